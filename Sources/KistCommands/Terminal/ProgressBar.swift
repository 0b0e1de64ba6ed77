internal import KistCore

/// How far something is that takes a while, in the last line of a terminal, without colors; nothing
/// where standard error is none.
struct ProgressBar {
  private let terminal: Terminal
  private let what: String
  private var line = ""

  init(_ what: String, on terminal: Terminal) {
    self.terminal = terminal
    self.what = what
  }

  /// Shows how many of how many are done; nothing where all is done at the first look.
  mutating func show(_ done: Int, of all: Int) {
    guard let width = terminal.errorWidth, done < all || !line.isEmpty else { return }
    let filled = barWidth * done / all
    let bar =
      String(repeating: "#", count: filled) + String(repeating: " ", count: barWidth - filled)
    let new = String("\(what) [\(bar)] \(done) of \(all)".prefix(width - 1))
    guard new != line else { return }
    replaceLine(with: new)
  }

  /// Takes it away.
  mutating func clear() {
    guard !line.isEmpty, let width = terminal.errorWidth else { return }
    // Behind it may stand what a person typed, such as ^C.
    line = ""
    terminal.writeError(
      Secret(utf8: "\r" + String(repeating: " ", count: width - 1) + "\r"))
  }

  private mutating func replaceLine(with new: String) {
    let rest = String(repeating: " ", count: max(0, line.count - new.count))
    terminal.writeError(Secret(utf8: "\r\(new)\(rest)"))
    line = new
  }
}

private let barWidth = 24
