package import KistCore
internal import KistJSON

/// Answers as Terraform's credentials helper: Terraform, "Credentials Helpers".
///
/// OpenTofu's is the same. `{}` means that there is no credential for a host. Errors go to standard
/// error.
package func answerTerraform(_ call: HelperCall, _ storage: UserStorage) async -> HelperAnswer {
  do throws(StorageError) {
    let words = try call.words("get|store|forget", "HOST")
    let key = CredentialKey(service: "terraform:" + words[1])
    switch words[0] {
    case "get":
      let found = try await usable(key, for: .terraform, storage.load)
      try found?.secret.requireText()
      return .done(
        JSONWriter.object { writer in
          if let found { writer.member("token", text: found.secret) }
        }.withNewline)
    case "store":
      let new = NewCredential(
        key: key, secret: try token(in: call.readInput()),
        attributes: [Attributes.toolName: Tool.terraform.rawValue, "host": words[1]])
      try await save(new, now: call.now(), load: storage.load, save: storage.save)
      return .done()
    case "forget":
      _ = try await delete(key, for: .terraform, load: storage.load, delete: storage.delete)
      return .done()
    default: throw .badRequest("there is no such operation")
    }
  } catch {
    return .failed(error)
  }
}

/// Returns the token of a credential.
///
/// Refuses a credential with other members, which a later Terraform may send, because they would be
/// lost.
private func token(in input: Secret) throws(StorageError) -> Secret {
  do throws(JSONError) {
    let object = try JSONObject(input)
    try object.refuseKeys(besides: ["token"])
    return try object.required("token").secret()
  } catch {
    throw StorageError(error)
  }
}
