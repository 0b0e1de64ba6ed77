internal import KistCore
internal import KistJSON

/// What cargo is answered in one line.
enum CargoReply {
  /// A token, which is good for every operation, until then.
  case token(Secret, until: Timestamp?)
  /// A login or a logout was carried out.
  case done(String)
  /// Cargo tries its next provider.
  case notFound
  /// Cargo tells that this cannot be done here.
  case notSupported
  /// Cargo shows why, and gives up.
  case failed(StorageError)

  /// The reply as a line of JSON.
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
