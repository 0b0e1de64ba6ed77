internal import CLinux
internal import Glibc
internal import KistCore
internal import KistSystem

/// The signals that stop or reload kistd, or are for its command.
struct Signals: Sendable {
  private let mailbox: CInt

  /// Takes the signals; from then on, none of them ends the process by itself.
  ///
  /// - Parameter forCommand: whether to take also those that kistd itself does not use.
  static func take(forCommand: Bool) throws(StorageError) -> Signals {
    let mailbox = kist_take_signals(forCommand ? 1 : 0)
    guard mailbox >= 0 else { throw .internal("cannot take the signals: \(systemText(of: errno))") }
    return Signals(mailbox: mailbox)
  }

  /// Runs a body on a separate thread with the number of each signal that arrives.
  func whenOneComes(_ body: @escaping @Sendable (CInt) -> Void) {
    startThread {
      while true {
        var number: UInt8 = 0
        let count = unsafe read(mailbox, &number, 1)
        if count == 1 { body(CInt(number)) } else if count == 0 || errno != EINTR { return }
      }
    }
  }

  /// Hands the signals over to a command.
  ///
  /// Returns a signal that came before, if any; then the command must not be started.
  static func handOver() -> CInt? {
    let signal = kist_hand_over_signals()
    return signal == 0 ? nil : signal
  }
}
