/// Why a request failed, and what to do about it.
///
/// A message never repeats the request or the stored data.
public struct StorageError: Error, Hashable, Sendable {
  /// The kind of failure; stable in the protocol.
  public enum Code: String, CaseIterable, Sendable {
    /// A bug in kist itself.
    case `internal`
    /// There is no such credential; the storage was open and certain of it.
    case notFound
    /// The condition of a change did not hold.
    case conflict
    /// The credential exists and is expired.
    case expired
    /// The storage is locked, so its contents are not known.
    case locked
    /// The request is not allowed.
    case denied
    /// No daemon is running, or its storage cannot be reached.
    case unavailable
    /// No answer came within the deadline.
    case timeout
    /// A limit is exceeded.
    case tooLarge
    /// The stored data fails authentication; nothing was overwritten.
    case corrupt
    /// The passphrase opens no key slot.
    case wrongPassphrase
    /// There are too many connections, another unlock is running, or the keyring keeps changing.
    ///
    /// Nothing was carried out.
    case busy
    /// There is no space or quota left.
    case full
    /// The request does not follow the protocol.
    case badRequest
    /// The request names an operation that does not exist.
    case unknownOperation
  }

  /// The effect of a failed change.
  public enum Outcome: String, Sendable {
    /// Nothing was changed.
    case unchanged
    /// The change was started; whether it was completed is not known.
    case unknown
  }

  /// The kind of failure.
  public var code: Code
  /// What happened, as a lower-case clause without a full stop.
  public var message: String
  /// What to do about it.
  public var hint: String?
  /// The effect on the stored data, where the request was a change.
  public var outcome: Outcome?
  /// For `conflict`: the current state of the key.
  public var current: Current?

  /// The state of a key when a condition on it failed.
  public enum Current: Hashable, Sendable {
    /// There was no such credential.
    case absent
    /// The credential had this revision.
    case revision(Revision)
  }

  /// Makes an error.
  public init(
    _ code: Code, _ message: String, hint: String? = nil, outcome: Outcome? = nil,
    current: Current? = nil
  ) {
    self.code = code
    self.message = message
    self.hint = hint
    self.outcome = outcome
    self.current = current
  }

  /// Returns the same error with this outcome, unless it already has one.
  package func withOutcome(_ outcome: Outcome) -> StorageError {
    var error = self
    error.outcome = error.outcome ?? outcome
    return error
  }
}

extension StorageError: CustomStringConvertible {
  /// The code and the message.
  public var description: String { "\(code.rawValue): \(message)" }

  /// The message for the user, which also says if a change may have been made.
  package var messageAndOutcome: String {
    outcome == .unknown ? message + "; the change may have been made" : message
  }
}
