internal import KistFile
internal import Logging
private import Synchronization

extension EncryptedFile.ProgressOptions {
  /// Creates the options of the progress notes; `nil` without a home directory.
  ///
  /// An older store is accepted once. If an older one replaces it later, kistd refuses it again.
  init?(_ options: Options, logger: Logger) {
    guard let directory = options.progressDirectory else { return nil }
    let acceptance = Acceptance(options.acceptsRollback)
    self.init(
      directory: directory, acceptsRollback: acceptance.take,
      report: { error in
        logger.warning(
          "kistd cannot use its progress note, so it cannot detect an older store",
          metadata: ["reason": "\(error)"])
      },
      reportAccepted: { error in
        logger.notice(
          "opened an older store, which --accept-rollback allows",
          metadata: ["reason": "\(error)"])
      })
  }
}

/// The user's acceptance of an older store, until it is used.
private final class Acceptance: Sendable {
  private let isGiven: Mutex<Bool>

  init(_ isGiven: Bool) { self.isGiven = Mutex(isGiven) }

  func take() -> Bool {
    isGiven.withLock { isGiven in
      defer { isGiven = false }
      return isGiven
    }
  }
}
