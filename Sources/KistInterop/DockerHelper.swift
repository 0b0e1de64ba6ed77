package import KistCore
internal import KistJSON

/// Answers as docker's credential helper, which podman, skopeo, buildah and others also use.
///
/// See docker-credential-helpers, credentials/credentials.go. The service is docker's URL or host
/// of the registry, unchanged. For kist, the user `<token>`, which has an identity token, is like
/// any other.
///
/// Errors go to standard output, with status 1. Clients compare some of the messages.
package func answerDocker(_ call: HelperCall, _ storage: UserStorage) async -> HelperAnswer {
  let usage = "Usage: docker-credential-kist <store|get|erase|list|version>"
  guard let action = call.arguments.first, call.arguments.count == 1 else { return .printed(usage) }
  do throws(StorageError) {
    switch action {
    case "store":
      // It becomes the newest, next to those of other users of the registry.
      try await storage.save(dockerCredential(in: call.readInput()), at: call.now())
      return .done()
    case "get":
      let registry = try registry(in: call.readInput())
      let found = try await storage.dockerCredential(of: registry, at: call.now())
      return try found.map { credential throws(StorageError) in
        try dockerAnswer(to: registry, with: credential)
      } ?? .printed("credentials not found in native keychain")
    case "erase":
      // Deletes the credentials of all users, as docker would otherwise log in as another one.
      let registry = try registry(in: call.readInput())
      for summary in try await storage.savedByDocker(registry) {
        try await storage.deleteUnchanged(summary)
      }
      return .done()
    case "list": return try await dockerList(of: storage, at: call.now())
    case "version", "--version", "-v":
      return .done(Secret(utf8: "docker-credential-kist (kist) \(KistVersion.current)\n"))
    case "help", "--help", "-h": return .done(Secret(utf8: usage + "\n"))
    default: return .printed("docker-credential-kist: there is no such action")
    }
  } catch {
    return .printed(error.line)
  }
}

extension HelperAnswer {
  fileprivate static func printed(_ message: String) -> HelperAnswer {
    HelperAnswer(output: Secret(utf8: message + "\n"), status: 1)
  }
}

/// Reads the URL of a registry, which is the whole input except surrounding blanks.
private func registry(in input: Secret) throws(StorageError) -> String {
  guard let text = input.validText else { throw .badRequest("the input is not UTF-8") }
  let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
  let start = text.utf8.drop { blanks.contains($0) }
  let trimmed = start.reversed().drop { blanks.contains($0) }.reversed()
  return try checked(registry: String(decoding: trimmed, as: UTF8.self))
}

private func checked(registry: String) throws(StorageError) -> String {
  guard !registry.isEmpty else { throw .badRequest("no credentials server URL") }
  return registry
}

private func dockerCredential(in input: Secret) throws(StorageError) -> NewCredential {
  let (url, username, secret) = try parsed { () throws(JSONError) in
    let object = try JSONObject(input)
    return (
      try object["ServerURL"]?.string() ?? "", try object["Username"]?.string() ?? "",
      try object.required("Secret").secret()
    )
  }
  let registry = try checked(registry: url)
  guard !username.isEmpty else { throw .badRequest("no credentials username") }
  return .ofDocker(registry, username, secret)
}

extension NewCredential {
  static func ofDocker(_ registry: String, _ username: String, _ secret: Secret) -> NewCredential {
    NewCredential(
      key: CredentialKey(service: registry, account: username), secret: secret,
      attributes: Tool.docker.attributes)
  }
}

/// Returns the host of a registry that docker names by an https URL, as it names Docker Hub.
private func bareHost(ofRegistry url: String) -> String? {
  url.hasPrefix("https://") ? host(ofURL: Secret(utf8: url)).flatMap(bareHost(_:)) : nil
}

extension UserStorage {
  /// Returns the credentials of a registry, or of all, that docker or its own helper saved.
  fileprivate func savedByDocker(
    _ registry: String? = nil
  ) async throws(StorageError) -> [CredentialSummary] {
    let queries: [CredentialQuery] =
      if let registry {
        [CredentialQuery(service: registry)]
      } else {
        [
          CredentialQuery(attributes: Tool.docker.attributes),
          CredentialQuery(attributes: [Attributes.schemaName: KnownItem.dockerSchema]),
        ]
      }
    var all: [CredentialSummary] = []
    for query in queries { all += try await findAll(query).filter { $0.isSaved(by: .docker) } }
    return all
  }

  /// Returns the newest usable credential of a registry; `nil` if there is none.
  ///
  /// Docker's own come first. A `list` contains only these, so it agrees with `get`.
  fileprivate func dockerCredential(
    of registry: String, at now: Timestamp
  ) async throws(StorageError) -> Credential? {
    let usable = try await findAll(CredentialQuery(service: registry))
      .filter { !$0.isExpired(at: now) }.newestFirst
    var newest = usable.first { $0.isSaved(by: .docker) } ?? usable.first(where: \.isSavedByHand)
    if newest == nil, let bareHost = bareHost(ofRegistry: registry) {
      newest = try await findAll(CredentialQuery(service: bareHost))
        .filter { $0.isSavedByHand && !$0.isExpired(at: now) }.newestFirst.first
    }
    guard let newest else { return nil }
    return try await stored(newest.key)
  }
}

private func dockerAnswer(
  to registry: String, with credential: Credential
) throws(StorageError) -> HelperAnswer {
  try .json { writer throws(StorageError) in
    writer.member("ServerURL", registry)
    writer.member("Username", credential.summary.key.account)
    try writer.member("Secret", text: credential)
  }
}

/// Returns the registries that docker is logged in to, each with the user that a `get` returns.
private func dockerList(
  of storage: UserStorage, at now: Timestamp
) async throws(StorageError) -> HelperAnswer {
  var listed: Set<CredentialKey> = []
  let newest = try await storage.savedByDocker().filter { !$0.isExpired(at: now) }.newestFirst
    .filter { listed.insert(CredentialKey(service: $0.key.service)).inserted }
  return try .json { writer in
    for summary in newest.sorted(by: { $0.key < $1.key }) {
      writer.member(escaping: summary.key.service, summary.key.account)
    }
  }
}
