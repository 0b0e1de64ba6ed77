/// Why a request was not carried out, and what to do about it.
///
/// A message never repeats what was asked or what is stored.
public struct StorageError: Error, Hashable, Sendable {
  /// What kind of failure it is; stable on the wire.
  public enum Code: String, CaseIterable, Sendable {
    /// A fault in kist itself.
    case `internal`
    /// There is no such credential; the storage was open and sure of it.
    case notFound
    /// The condition of a change did not hold.
    case conflict
    /// The credential is there, and past its time.
    case expired
    /// The storage is locked; nothing can be said about what is in it.
    case locked
    /// Not allowed.
    case denied
    /// No daemon, or its storage cannot be reached.
    case unavailable
    /// No answer within the deadline.
    case timeout
    /// Over a limit.
    case tooLarge
    /// What is stored fails authentication; nothing was overwritten.
    case corrupt
    /// The passphrase opens no slot.
    case wrongPassphrase
    /// Too many connections, another unlock is under way, or the keyring keeps changing; nothing was
    /// carried out.
    case busy
    /// No space or quota is left.
    case full
    /// The request does not follow the protocol.
    case badRequest
    /// The request names an operation that does not exist.
    case unknownOperation
  }

  /// What became of the change that was asked for.
  public enum Outcome: String, Sendable {
    /// Nothing was changed.
    case unchanged
    /// The change had been started; whether it was carried out is not known.
    case unknown
  }

  /// What kind of failure it is.
  public var code: Code
  /// What happened, as a clause in lower case without a full stop.
  public var message: String
  /// What to do about it.
  public var hint: String?
  /// What became of the change, where one was asked for.
  public var outcome: Outcome?
  /// For `conflict`: where the key stands now.
  public var current: Current?

  /// Where a key stood when a condition on it failed.
  public enum Current: Hashable, Sendable {
    /// There was no such credential.
    case absent
    /// It was there, at this revision.
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

  /// The same error to a change, saying what became of it; an outcome already told stays.
  package func withOutcome(_ outcome: Outcome) -> StorageError {
    var error = self
    error.outcome = error.outcome ?? outcome
    return error
  }
}

extension StorageError: CustomStringConvertible {
  /// The code and the message.
  public var description: String { "\(code.rawValue): \(message)" }
}
