/// The errors that more than one module throws.
extension StorageError {
  /// There is no such credential.
  public static var notFound: StorageError {
    StorageError(
      .notFound, "there is no such credential", hint: "see what there is with `kist list`")
  }

  /// The condition of a change did not hold.
  public static func conflict(_ condition: Condition, current: Revision?) -> StorageError {
    let message =
      if current == nil {
        "the credential does not exist"
      } else if condition == .ifAbsent {
        "the credential exists already"
      } else {
        "the credential is not at the expected revision"
      }
    return StorageError(
      .conflict, message,
      hint: current == nil ? "see what there is with `kist list`" : "load it and decide again",
      outcome: .unchanged,
      current: current.map(Current.revision) ?? .absent)
  }

  /// The credential is expired.
  public static func expired(at moment: Timestamp) -> StorageError {
    StorageError(
      .expired, "the credential expired at \(moment)",
      hint: "save a new one, or load it anyway with `--allow-expired`")
  }

  /// The storage is locked.
  public static func locked(_ message: String, hint: String = "unlock it with `kist unlock`")
    -> StorageError
  { StorageError(.locked, message, hint: hint) }

  /// A limit is exceeded.
  public static func tooLarge(_ what: String, limit: Int, size: Int) -> StorageError {
    StorageError(.tooLarge, "\(what) is \(size) bytes long; the limit is \(limit)")
  }

  /// A limit is exceeded by data that was read only up to the limit.
  package static func tooLarge(_ what: String, limit: Int) -> StorageError {
    StorageError(.tooLarge, "\(what) is longer than \(limit) bytes", outcome: .unchanged)
  }

  /// The request does not follow the protocol.
  public static func badRequest(_ message: String, hint: String? = nil) -> StorageError {
    StorageError(.badRequest, message, hint: hint)
  }

  /// A command or a request cannot be carried out, and nothing was changed.
  package static func refused(
    _ message: String, as code: Code = .badRequest, hint: String? = nil
  ) -> StorageError {
    StorageError(code, message, hint: hint, outcome: .unchanged)
  }

  /// The request names an operation that does not exist.
  public static var unknownOperation: StorageError {
    StorageError(
      .unknownOperation, "there is no such operation",
      hint: "`hello` lists the operations")
  }

  /// No answer came within the deadline.
  public static func timeout(after deadline: Duration) -> StorageError {
    StorageError(
      .timeout, "the storage did not answer within \(deadline)",
      hint: "try again, or give kistd a longer --deadline")
  }

  /// The storage is closed.
  package static let closed = StorageError(.unavailable, "the storage is closed")

  /// The passphrase opens no key slot.
  public static var wrongPassphrase: StorageError {
    StorageError(
      .wrongPassphrase, "the passphrase is wrong",
      hint: "try again with the passphrase of this storage; nothing was changed")
  }

  /// There is a bug in kist itself.
  public static func `internal`(_ message: String) -> StorageError {
    StorageError(.internal, message, hint: "this is a fault in kist; please report it")
  }
}
