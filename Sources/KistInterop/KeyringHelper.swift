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
        let found =
          if let username {
            try await storage.usable(
              CredentialKey(service: service, account: username), for: .keyring)
          } else {
            try await storage.newest(of: service, for: .keyring, at: call.now())
          }
        if let found { return try answer(with: found, output) }
      }
      return HelperAnswer(status: 1)
    case .set(let key):
      let secret = try call.readInput().withoutNewline
      guard !secret.isEmpty else { throw .badRequest("the password is empty") }
      try await storage.save(.ofKeyring(key, secret), at: call.now())
      return .done()
    case .delete(let key):
      for service in spellings(of: key.service) {
        let key = CredentialKey(service: service, account: key.account)
        if try await storage.delete(key, for: .keyring) { return .done() }
      }
      return HelperAnswer(complaint: .notFound, status: 1)
    }
  } catch {
    return .failed(error)
  }
}

extension NewCredential {
  static func ofKeyring(_ key: CredentialKey, _ secret: Secret) -> NewCredential {
    NewCredential(key: key, secret: secret, attributes: Tool.keyring.attributes)
  }
}

/// Returns a service; for a URL, returns it with and without a slash at its end.
///
/// For the same index, pip asks with the slash and uv without.
private func spellings(of service: String) -> [String] {
  guard service.contains("://") else { return [service] }
  return [service, service.hasSuffix("/") ? String(service.dropLast()) : service + "/"]
}

private func answer(
  with credential: Credential, _ output: KeyringRequest.Output
) throws(StorageError) -> HelperAnswer {
  let account = credential.summary.key.account
  switch output {
  case .password: return .done(credential.secret.withNewline)
  case .lines:
    var lines = WipedBytes(capacity: 256)
    lines.append(utf8: account + "\n")
    credential.secret.withBytes { lines.append($0) }
    return .done(Secret(lines).withNewline)
  case .json:
    return try .json { writer throws(StorageError) in
      writer.member("username", account)
      try writer.member("password", text: credential)
    }
  }
}

/// A request to the `keyring` command.
private enum KeyringRequest {
  enum Output { case password, lines, json }

  case get(service: String, username: String?, Output)
  case set(CredentialKey)
  case delete(CredentialKey)

  init(reading arguments: [String]) throws(StorageError) {
    var words: [String] = []
    var (isPair, isJSON) = (false, false)
    var rest = arguments[...]
    while let word = rest.popFirst() {
      guard word.hasPrefix("-"), word != "-" else {
        words.append(word)
        continue
      }
      // An option's value may be the next word, or follow an equals sign.
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      switch (parts[0], parts.count == 2 ? parts[1] : rest.popFirst()) {
      case ("--mode", "creds"): isPair = true
      case ("--mode", "password"): isPair = false
      case ("--output", "json"): isJSON = true
      case ("--output", "plain"): isJSON = false
      default: throw .badRequest("unrecognized arguments")
      }
    }
    switch (words.first, words.count) {
    case ("get", 2...3) where isPair:
      let username = words.count == 3 ? words[2] : nil
      self = .get(service: words[1], username: username, isJSON ? .json : .lines)
    case ("get", 3) where !isJSON: self = .get(service: words[1], username: words[2], .password)
    case ("set", 3): self = .set(CredentialKey(service: words[1], account: words[2]))
    case ("del", 3): self = .delete(CredentialKey(service: words[1], account: words[2]))
    default: throw .wrongWords("[--mode creds [--output json]] get|set|del SERVICE USERNAME")
    }
  }
}
