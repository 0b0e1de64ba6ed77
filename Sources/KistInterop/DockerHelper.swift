package import KistCore
internal import KistJSON

/// Answers as docker's credential helper, which podman, skopeo, buildah and others also use.
///
/// See docker-credential-helpers, credentials/credentials.go.
///
/// Errors go to standard output, with status 1. Clients compare some of the messages.
package func answerDocker(_ call: HelperCall, _ storage: UserStorage) async -> HelperAnswer {
  guard let action = call.arguments.first, call.arguments.count == 1 else {
    return .printed(dockerUsage)
  }
  do throws(StorageError) {
    switch action {
    case "store":
      let credential = try DockerCredential(reading: call.readInput())
      try await credential.store(now: call.now(), load: storage.load, save: storage.save)
      return .done()
    case "get":
      let registry = try DockerRegistry(reading: call.readInput())
      let found = try await registry.get(now: call.now(), find: storage.find, load: storage.load)
      return found.map { .done($0) } ?? .printed("credentials not found in native keychain")
    case "erase":
      let registry = try DockerRegistry(reading: call.readInput())
      try await registry.erase(find: storage.find, delete: storage.delete)
      return .done()
    case "list": return .done(try await dockerList(now: call.now(), find: storage.find))
    case "version", "--version", "-v":
      return .done(Secret(utf8: "docker-credential-kist (kist) \(KistVersion.current)\n"))
    case "help", "--help", "-h": return .done(Secret(utf8: dockerUsage + "\n"))
    default: return .printed("docker-credential-kist: there is no such action")
    }
  } catch {
    return .printed(error.line)
  }
}

private let dockerUsage = "Usage: docker-credential-kist <store|get|erase|list|version>"

extension HelperAnswer {
  fileprivate static func printed(_ message: String) -> HelperAnswer {
    HelperAnswer(output: Secret(utf8: message + "\n"), status: 1)
  }
}

/// A registry, identified by docker's URL or host for it, unchanged.
struct DockerRegistry {
  let url: String

  init(url: String) { self.url = url }

  /// Reads the URL, which is the whole input except surrounding blanks.
  init(reading input: Secret) throws(StorageError) {
    guard let text = input.validText else { throw .badRequest("what was sent is not UTF-8") }
    let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
    let start = text.utf8.drop { blanks.contains($0) }
    let trimmed = start.reversed().drop { blanks.contains($0) }.reversed()
    url = String(decoding: trimmed, as: UTF8.self)
    try check()
  }

  func check() throws(StorageError) {
    guard !url.isEmpty else { throw .badRequest("no credentials server URL") }
  }

  /// Returns the answer to docker's `get`; `nil` if there is no usable credential.
  func get(now: Timestamp, find: Find, load: Load) async throws(StorageError) -> Secret? {
    let found = try await allPages(of: CredentialQuery(service: url), find)
    let usable = found.filter { !$0.isExpired(at: now) }
    // Docker's own credentials come first. A `list` contains only these, so it agrees with `get`.
    guard
      let newest = usable.filter({ $0.isSaved(by: .docker) }).newestFirst.first
        ?? usable.filter(\.isSavedByHand).newestFirst.first,
      let credential = try await stored(newest.key, load)
    else { return nil }
    return try DockerCredential(credential).line
  }

  /// Deletes the credentials that docker saved, of all users: a logout must not switch to another
  /// user.
  func erase(find: Find, delete: Delete) async throws(StorageError) {
    let query = CredentialQuery(service: url, attributes: dockerAttributes)
    for summary in try await allPages(of: query, find) {
      try await KistInterop.delete(summary, delete)
    }
  }
}

/// Returns the registries that docker is logged in to, each with the user that a `get` returns.
func dockerList(now: Timestamp, find: Find) async throws(StorageError) -> Secret {
  let found = try await allPages(of: CredentialQuery(attributes: dockerAttributes), find)
  var listed: Set<CredentialKey> = []
  let newest = found.filter { !$0.isExpired(at: now) }.newestFirst.filter {
    listed.insert(CredentialKey(service: $0.key.service)).inserted
  }
  return JSONWriter.object { writer in
    for summary in newest.sorted(by: { $0.key < $1.key }) {
      writer.member(escaping: summary.key.service, summary.key.account)
    }
  }.withNewline
}

private let dockerAttributes: Attributes = [Attributes.toolName: Tool.docker.rawValue]

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

  init(_ credential: Credential) throws(StorageError) {
    try credential.secret.requireText()
    registry = DockerRegistry(url: credential.summary.key.service)
    username = credential.summary.key.account
    secret = credential.secret
  }

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

  var newCredential: NewCredential {
    NewCredential(
      key: CredentialKey(service: registry.url, account: username), secret: secret,
      attributes: [Attributes.toolName: Tool.docker.rawValue])
  }
}
