import CLibsecret
import KistCore

@testable import KistLibsecret

/// The keyring, at a provider that answers as an input says.
///
/// It does so rightly, in other types, with errors, or not at all. Each request ends, and what it
/// gives is what was asked for.
///
/// An input of zeros is an honest provider.
let keyrings = Target("keyrings") { input in
  var input = input
  let requests = input.bytes(2)
  let script = Script(input)
  HostileBus.own.play(script)
  wait {
    let storage = Libsecret.open(options(HostileBus.own.address))
    for request in requests { await ask(request, storage) }
    await storage.close()
  }
  HostileBus.own.end()
}

private let key = CredentialKey(service: "s", account: "u")

private func options(_ address: String) -> Libsecret.Options {
  Libsecret.Options(busAddress: address, deadline: .milliseconds(50))
}

private func ask(_ number: UInt8, _ storage: OpenStorage) async {
  let credentials = storage.credentials
  do throws(StorageError) {
    // What came later has the last numbers, so that inputs from before ask what they asked.
    switch number < 248 ? number % 8 : number - 240 {
    case 0:
      let loaded = try await credentials.load(LoadRequest(key: key, allowExpired: true))
      demand(loaded.summary.key == key, "what is loaded is of the key that was asked for")
      demand(loaded.summary.isWithinLimits, "what is loaded is within the limits")
      demand(loaded.secret.count <= Limits.secret, "what is loaded is within the limits")
    case 1:
      let credential = NewCredential(
        key: key, secret: Secret(utf8: "secret"), label: "l", attributes: ["k": "v"])
      let saved = try await credentials.save(SaveRequest(credential: credential))
      demand(saved.key == key && saved.label == "l", "what is saved is what was to be")
    case 2: _ = try await credentials.delete(DeleteRequest(key: key))
    case 3:
      for summary in try await credentials.find(CredentialQuery(service: "s")).credentials {
        demand(summary.key.service == "s", "what is found is what was looked for")
        demand(summary.isWithinLimits, "what is found is within the limits")
      }
    case 4: _ = try await storage.access.status()
    case 5: _ = try await storage.access.lock()
    case 6: _ = try await storage.access.unlock(nil)
    case 8:
      _ = try await Libsecret.foreignItems(
        with: [["application": "another"]], prompting: true, options(HostileBus.own.address))
    case 9:
      let changes = try await storage.watch(service: "s")
      await ask(1, storage)
      await ask(2, storage)
      demand(changes.position == nil, "a keyring has no mark of its changes")
    default: _ = await Libsecret.probe(options(HostileBus.own.address))
    }
  } catch {
    demand(error.code != .internal, "an error has a cause")
  }
}
