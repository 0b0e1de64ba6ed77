package import KistCore
internal import KistJSON

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
      guard let found = try await storage.stored(registry.key),
        found.summary.isMeant(for: .cargo), !found.summary.isExpired(at: now)
      else { return cargoError("not-found") }
      return try cargoToken(found)
    case .login(let registry, let token, let url):
      let token = if let token { token } else { try askToken(question(url: url)) }
      guard !token.isEmpty else { throw .badRequest("the token is empty; nothing was saved") }
      try await storage.save(registry.newCredential(token), at: now)
      return cargoDone("login")
    case .logout(let registry):
      let wasThere = try await storage.delete(registry.key, for: .cargo)
      return wasThere ? cargoDone("logout") : cargoError("not-found")
    case .other: return cargoError("operation-not-supported")
    }
  } catch {
    return cargoError("other", message: error.line)
  }
}

/// Returns the question for a token, with the page that issues tokens if its URL is plain ASCII.
private func question(url: String?) -> String {
  let isPlain = url?.utf8.allSatisfy { (0x21...0x7E).contains($0) } ?? false
  return isPlain ? "Token, from \(url ?? ""): " : "Token: "
}

/// A request of cargo, one line: cargo's reference, "Credential Provider Protocol", version 1.
private enum CargoRequest {
  case get(CargoRegistry)
  /// Without a token, the provider asks for it.
  case login(CargoRegistry, token: Secret?, url: String?)
  case logout(CargoRegistry)
  /// A request of a newer cargo.
  case other

  init(reading line: Secret) throws(StorageError) {
    self = try parsed { () throws(JSONError) in
      let object = try JSONObject(line)
      let version = try object.required("v")
      guard try version.integer() == 1 else { throw version.error("must be 1") }
      let index = try object.required("registry").object()
      let registry = CargoRegistry(
        indexURL: try index.required("index-url").string(), name: try index["name"]?.string())
      switch try object.required("kind").string() {
      case "get":
        let operations = ["read", "publish", "yank", "unyank", "owners"]
        let operation = try object.required("operation").string()
        return operations.contains(operation) ? .get(registry) : .other
      case "login":
        return .login(
          registry, token: try object["token"]?.secret(), url: try object["login-url"]?.string())
      case "logout": return .logout(registry)
      default: return .other
      }
    }
  }
}

/// A registry, identified by the URL of its index.
struct CargoRegistry {
  let indexURL: String
  let name: String?

  var key: CredentialKey { CredentialKey(service: "cargo:" + indexURL) }

  func newCredential(_ token: Secret) -> NewCredential {
    NewCredential(
      key: key, secret: token, label: name.map { "cargo registry \($0)" },
      attributes: Tool.cargo.attributes)
  }
}

// The replies to cargo, one line each.

/// Returns the reply with a token, valid for every operation until it expires.
private func cargoToken(_ credential: Credential) throws(StorageError) -> Secret {
  let expiry = credential.summary.expiresAt
  return try cargoReply("Ok") { writer throws(StorageError) in
    writer.member("kind", "get")
    try writer.member("token", text: credential)
    writer.member("cache", expiry == nil ? "session" : "expires")
    writer.member("expiration", expiry.map { Int($0.secondsSinceEpoch) })
    writer.member("operation_independent", true)
  }
}

private func cargoDone(_ kind: String) -> Secret { cargoReply("Ok") { $0.member("kind", kind) } }

/// After `not-found` cargo tries its next provider; after `other` it shows the message and stops.
private func cargoError(_ kind: String, message: String? = nil) -> Secret {
  cargoReply("Err") { writer in
    writer.member("kind", kind)
    writer.member("message", message)
  }
}

private func cargoReply<Failure: Error>(
  _ result: StaticString, _ members: (inout JSONWriter) throws(Failure) -> Void
) throws(Failure) -> Secret {
  try JSONWriter.object { writer throws(Failure) in
    try writer.member(result, object: members)
  }.withNewline
}
