internal import CLinux
internal import Glibc
internal import KistCore
internal import KistSystem

/// The signals that stop or reload kistd, or are for its command.
struct Signals: Sendable {
  private let mailbox: CInt

  /// Takes the signals, which no longer end the process; all of them if they are for a command.
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

  /// Hands the signals over to a command, unless a signal came before, which it returns.
  static func handOver() -> CInt? {
    let signal = kist_hand_over_signals()
    return signal == 0 ? nil : signal
  }
}
