package import KistCore
internal import KistJSON

/// Answers as Terraform's credentials helper: Terraform, "Credentials Helpers".
///
/// OpenTofu's is the same. `{}` means that a host has no credential. Errors go to standard error.
package func answerTerraform(_ call: HelperCall, _ storage: UserStorage) async -> HelperAnswer {
  do throws(StorageError) {
    let words = try call.words("get|store|forget", "HOST")
    let key = CredentialKey(service: "terraform:" + words[1])
    switch words[0] {
    case "get":
      let found = try await storage.usable(key, for: .terraform)
      return try .json { writer throws(StorageError) in try writer.member("token", text: found) }
    case "store":
      var attributes = Tool.terraform.attributes
      attributes["host"] = words[1]
      let token = try token(in: call.readInput())
      let new = NewCredential(key: key, secret: token, attributes: attributes)
      try await storage.save(new, at: call.now())
    case "forget": _ = try await storage.delete(key, for: .terraform)
    default: throw .badRequest("there is no such operation")
    }
    return .done()
  } catch {
    return .failed(error)
  }
}

/// Returns the token of a credential.
///
/// Refuses other members, which a later Terraform may send, because they would be lost.
private func token(in input: Secret) throws(StorageError) -> Secret {
  try parsed { () throws(JSONError) in
    let object = try JSONObject(input)
    try object.refuseKeys(except: ["token"])
    return try object.required("token").secret()
  }
}
