package import KistCore

/// The first line of a provider: the versions of the protocol that it supports.
package let cargoHello = Secret(utf8: "{\"v\":[1]}\n")

/// Answers one line from cargo with one line, including its newline.
///
/// - Parameter askToken: Asks the user for a token, with a question.
package func answerCargo(
  _ line: Secret, _ storage: UserStorage, now: Timestamp,
  askToken: (String) throws(StorageError) -> Secret
) async -> Secret {
  do throws(StorageError) {
    switch try CargoRequest(reading: line) {
    case .get(let registry):
      return try await registry.get(now: now, load: storage.load).line
    case .login(let registry, let token, let url):
      guard let token else {
        let typed = try askToken(registry.question(url: url))
        return try await registry.login(typed, now, load: storage.load, save: storage.save).line
      }
      return try await registry.login(token, now, load: storage.load, save: storage.save).line
    case .logout(let registry):
      return try await registry.logout(load: storage.load, delete: storage.delete).line
    case .other: return CargoReply.notSupported.line
    }
  } catch {
    return CargoReply.failed(error).line
  }
}

extension CargoRegistry {
  fileprivate func get(now: Timestamp, load: Load) async throws(StorageError) -> CargoReply {
    guard
      let credential = try await stored(key, load), credential.summary.isMeant(for: .cargo),
      !credential.summary.isExpired(at: now)
    else { return .notFound }
    try credential.secret.requireText()
    return .token(credential.secret, until: credential.summary.expiresAt)
  }

  fileprivate func login(
    _ token: Secret, _ now: Timestamp, load: Load, save: Save
  ) async throws(StorageError) -> CargoReply {
    guard !token.isEmpty else { throw .badRequest("the token is empty; nothing was saved") }
    try await KistInterop.save(newCredential(token), now: now, load: load, save: save)
    return .done("login")
  }

  fileprivate func logout(
    load: Load, delete: Delete
  ) async throws(StorageError) -> CargoReply {
    let wasThere = try await KistInterop.delete(key, for: .cargo, load: load, delete: delete)
    return wasThere ? .done("logout") : .notFound
  }

  /// Returns the question for a token, with the page that issues tokens if its URL is plain ASCII.
  fileprivate func question(url: String?) -> String {
    let isPlain = url?.utf8.allSatisfy { (0x21...0x7E).contains($0) } ?? false
    return isPlain ? "Token, from \(url ?? ""): " : "Token: "
  }
}
