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

/// A request of cargo, one line: cargo's reference, "Credential Provider Protocol", version 1.
enum CargoRequest {
  case get(CargoRegistry)
  /// Without a token, the provider asks for it.
  case login(CargoRegistry, token: Secret?, url: String?)
  case logout(CargoRegistry)
  /// A request of a newer cargo.
  case other

  init(reading line: Secret) throws(StorageError) {
    do throws(JSONError) {
      let object = try JSONObject(line)
      let version = try object.required("v")
      guard try version.integer() == 1 else { throw version.error("must be 1") }
      let registry = try CargoRegistry(reading: object.required("registry").object())
      switch try object.required("kind").string() {
      case "get":
        let operations = ["read", "publish", "yank", "unyank", "owners"]
        let operation = try object.required("operation").string()
        self = operations.contains(operation) ? .get(registry) : .other
      case "login":
        self = .login(
          registry, token: try object["token"]?.secret(), url: try object["login-url"]?.string())
      case "logout": self = .logout(registry)
      default: self = .other
      }
    } catch {
      throw StorageError(error)
    }
  }
}

/// A registry, identified by the URL of its index.
struct CargoRegistry {
  let indexURL: String
  let name: String?

  init(indexURL: String, name: String?) {
    self.indexURL = indexURL
    self.name = name
  }

  init(reading object: JSONObject) throws(JSONError) {
    indexURL = try object.required("index-url").string()
    name = try object["name"]?.string()
  }

  var key: CredentialKey { CredentialKey(service: "cargo:" + indexURL) }

  func newCredential(_ token: Secret) -> NewCredential {
    NewCredential(
      key: key, secret: token, label: name.map { "cargo registry \($0)" },
      attributes: [Attributes.toolName: Tool.cargo.rawValue])
  }
}

/// A reply to cargo, one line.
enum CargoReply {
  /// A token, valid for every operation until `until`.
  case token(Secret, until: Timestamp?)
  /// A login or a logout was performed.
  case done(String)
  /// Cargo tries its next provider.
  case notFound
  /// Cargo reports that this operation is not supported.
  case notSupported
  /// Cargo shows the error and gives up.
  case failed(StorageError)

  var line: Secret {
    JSONWriter.object { writer in
      switch self {
      case .token(let token, let expiry):
        writer.member("Ok") { writer in
          writer.member("kind", "get")
          writer.member("token", text: token)
          writer.member("cache", expiry == nil ? "session" : "expires")
          writer.member("expiration", expiry.map { Int($0.secondsSinceEpoch) })
          writer.member("operation_independent", true)
        }
      case .done(let kind): writer.member("Ok") { $0.member("kind", kind) }
      case .notFound: writer.member("Err") { $0.member("kind", "not-found") }
      case .notSupported: writer.member("Err") { $0.member("kind", "operation-not-supported") }
      case .failed(let error):
        writer.member("Err") { writer in
          writer.member("kind", "other")
          writer.member("message", error.line)
        }
      }
    }.withNewline
  }
}
