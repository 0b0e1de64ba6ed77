// deploy VERSION: shows how a program gets a credential of the user's kistd.

import Deployment
import KistClient

guard CommandLine.arguments.count == 2 else {
  print("usage: deploy VERSION")
  throw StorageError(.badRequest, "there is no version")
}

let deployment = Deployment(storage: try .remote()) { version, token in
  // Here the token would go to the server; a secret says no more of itself than this.
  print("uploading \(version) with \(token)")
}

switch try await deployment.deploy(CommandLine.arguments[1]) {
case .deployed: print("deployed")
case .postponed(let advice): print("not deployed: \(advice)")
}
