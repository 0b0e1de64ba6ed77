internal import KistCore
internal import KistJSON

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
