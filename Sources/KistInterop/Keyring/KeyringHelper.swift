package import KistCore
internal import KistJSON

/// Answers as the `keyring` command that pip and uv call: python-keyring, keyring/cli.py.
///
/// The status is 1, without output, if there is no credential. It is 2 for an invalid command line.
package func answerKeyring(_ call: HelperCall, _ storage: UserStorage) async -> HelperAnswer {
  let request: KeyringRequest
  do throws(StorageError) { request = try KeyringRequest(reading: call.arguments) } catch {
    return HelperAnswer(complaint: error, status: 2)
  }
  do throws(StorageError) {
    switch request {
    case .get(let service, let username, let output):
      for service in spellings(of: service) {
        let found = try await keyringCredential(service, username, now: call.now(), storage)
        if let found { return .done(try text(of: found, output)) }
      }
      return HelperAnswer(status: 1)
    case .set(let key):
      let secret = try call.readInput().withoutNewline
      guard !secret.isEmpty else { throw .badRequest("the password is empty") }
      try await save(
        .ofKeyring(key, secret), now: call.now(), load: storage.load, save: storage.save)
      return .done()
    case .delete(let key):
      for service in spellings(of: key.service) {
        let key = CredentialKey(service: service, account: key.account)
        let wasThere = try await delete(
          key, for: .keyring, load: storage.load, delete: storage.delete)
        if wasThere { return .done() }
      }
      return HelperAnswer(complaint: .notFound, status: 1)
    }
  } catch {
    return .failed(error)
  }
}

extension NewCredential {
  /// Returns the credential to save for a password.
  static func ofKeyring(_ key: CredentialKey, _ secret: Secret) -> NewCredential {
    NewCredential(
      key: key, secret: secret, attributes: [Attributes.toolName: Tool.keyring.rawValue])
  }
}

/// Returns a service; for a URL, returns it with and without a slash at its end.
///
/// For the same index, pip asks with the slash and uv without.
private func spellings(of service: String) -> [String] {
  guard service.contains("://") else { return [service] }
  return [service, service.hasSuffix("/") ? String(service.dropLast()) : service + "/"]
}

private func keyringCredential(
  _ service: String, _ username: String?, now: Timestamp, _ storage: UserStorage
) async throws(StorageError) -> Credential? {
  guard let username else {
    return try await newest(
      of: service, for: .keyring, now: now, find: storage.find, load: storage.load)
  }
  let key = CredentialKey(service: service, account: username)
  return try await usable(key, for: .keyring, storage.load)
}

private func text(
  of credential: Credential, _ output: KeyringRequest.Output
) throws(StorageError) -> Secret {
  switch output {
  case .password: return credential.secret.withNewline
  case .lines:
    var lines = WipedBytes(capacity: 256)
    lines.append(utf8: credential.summary.key.account + "\n")
    credential.secret.withBytes { lines.append($0) }
    return Secret(lines).withNewline
  case .json:
    try credential.secret.requireText()
    return JSONWriter.object { writer in
      writer.member("username", credential.summary.key.account)
      writer.member("password", text: credential.secret)
    }.withNewline
  }
}
