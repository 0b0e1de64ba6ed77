import Foundation
import Glibc
import Synchronization
import Testing

/// A terminal with the test at its keyboard: pty(7).
final class PseudoTerminal: Sendable {
  let path: String
  private let keyboard: CInt
  private let screen: CInt
  private let shown = Mutex("")

  init() throws {
    var (keyboard, screen): (CInt, CInt) = (-1, -1)
    var path = Array(repeating: CChar(0), count: 64)
    try #require(unsafe openpty(&keyboard, &screen, &path, nil, nil) == 0)
    self.keyboard = keyboard
    self.screen = screen
    self.path = unsafe path.withUnsafeBufferPointer { unsafe String(cString: $0.baseAddress!) }
  }

  deinit {
    close(screen)
    close(keyboard)
  }

  /// Types, once a prompt has appeared and so the echo is off.
  ///
  /// On a thread of its own, since the prompt blocks the one that it is asked on.
  func type(_ text: String, after prompt: String) {
    Thread.detachNewThread { [self] in
      let seen = read(upTo: prompt)
      shown.withLock { $0 = seen }
      type(text)
    }
  }

  /// Types at once.
  func type(_ text: String) { unsafe write(keyboard, text, text.utf8.count) }

  /// What appears on the screen, as far as the next prompt.
  func read(upTo prompt: String) -> String {
    var byte: UInt8 = 0
    var seen = ""
    while !seen.hasSuffix(prompt), unsafe Glibc.read(keyboard, &byte, 1) == 1 {
      seen.unicodeScalars.append(Unicode.Scalar(byte))
    }
    return seen
  }

  /// What was on the screen before anything was typed.
  var screenText: String { shown.withLock { $0 } }

  /// Whether what is typed is shown.
  var echoes: Bool { PseudoTerminal.echoes(screen) }

  static func echoes(_ descriptor: CInt) -> Bool {
    var settings = termios()
    unsafe tcgetattr(descriptor, &settings)
    return settings.c_lflag & tcflag_t(ECHO) != 0
  }
}
