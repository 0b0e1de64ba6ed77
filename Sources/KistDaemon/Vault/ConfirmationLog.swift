internal import KistCore
internal import Logging
internal import Synchronization

/// Logs when the state of a vault cannot be confirmed, and when it can be confirmed again.
///
/// A single failure is not logged: the next confirmation follows in a few seconds.
final class ConfirmationLog: Sendable {
  private let logger: Logger
  private let failures = Mutex(0)

  init(_ logger: Logger) { self.logger = logger }

  /// Notes the result of a confirmation; `nil` if it succeeded.
  func note(_ problem: StorageError?) {
    let before = failures.withLock { failures in
      defer { failures = problem == nil ? 0 : failures + 1 }
      return failures
    }
    if let problem, before == 1 {
      logger.warning(
        "the shared vault cannot be confirmed; credentials load from its copy",
        metadata: ["reason": "\(problem)"])
    } else if problem == nil, before >= 2 {
      logger.notice("the shared vault is confirmed again")
    }
  }
}
