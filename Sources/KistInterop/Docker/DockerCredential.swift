internal import KistCore
internal import KistJSON

/// A registry's user and password, as docker writes and reads them.
///
/// The user `<token>` means that the secret is an identity token; here it is treated like any other
/// user.
struct DockerCredential {
  let registry: DockerRegistry
  let username: String
  let secret: Secret

  init(registry: DockerRegistry, username: String, secret: Secret) {
    self.registry = registry
    self.username = username
    self.secret = secret
  }

  /// Reads the input of docker's `store`.
  init(reading input: Secret) throws(StorageError) {
    do throws(JSONError) {
      let object = try JSONObject(input)
      let url = try object["ServerURL"]?.string() ?? ""
      username = try object["Username"]?.string() ?? ""
      secret = try object.required("Secret").secret()
      registry = DockerRegistry(url: url)
    } catch {
      throw StorageError(error)
    }
    try registry.check()
    guard !username.isEmpty else { throw .badRequest("no credentials username") }
  }

  /// Creates the answer to a `get`.
  init(_ credential: Credential) throws(StorageError) {
    try credential.secret.requireText()
    registry = DockerRegistry(url: credential.summary.key.service)
    username = credential.summary.key.account
    secret = credential.secret
  }

  /// One line of JSON.
  var line: Secret {
    JSONWriter.object { writer in
      writer.member("ServerURL", registry.url)
      writer.member("Username", username)
      writer.member("Secret", text: secret)
    }.withNewline
  }

  /// Saves it as the newest, next to those of other users of the registry.
  func store(now: Timestamp, load: Load, save: Save) async throws(StorageError) {
    try await KistInterop.save(newCredential, now: now, load: load, save: save)
  }

  /// The credential to save for it.
  var newCredential: NewCredential {
    NewCredential(
      key: CredentialKey(service: registry.url, account: username), secret: secret,
      attributes: [Attributes.toolName: Tool.docker.rawValue])
  }
}
