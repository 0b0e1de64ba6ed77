internal import KistCore

/// A progress bar without colors in the last line of standard error, if that is a terminal.
struct ProgressBar {
  private let terminal: Terminal
  private let what: String
  private var line = ""

  init(_ what: String, on terminal: Terminal) {
    self.terminal = terminal
    self.what = what
  }

  /// Shows the progress; shows nothing if everything is done at the first call.
  mutating func show(_ done: Int, of all: Int) {
    guard let width = terminal.errorWidth, done < all || !line.isEmpty else { return }
    // The numbers come from kistd and may have any value.
    let filled = Int(Double(barWidth) * min(1, max(0, Double(done) / Double(max(1, all)))))
    let bar =
      String(repeating: "#", count: filled) + String(repeating: " ", count: barWidth - filled)
    let new = String("\(what) [\(bar)] \(done) of \(all)".prefix(width - 1))
    guard new != line else { return }
    replaceLine(with: new)
  }

  mutating func clear() {
    guard !line.isEmpty, let width = terminal.errorWidth else { return }
    // The rest of the line may contain typed text, such as ^C.
    line = ""
    terminal.writeError(Secret(utf8: "\r" + String(repeating: " ", count: width - 1) + "\r"))
  }

  private mutating func replaceLine(with new: String) {
    let rest = String(repeating: " ", count: max(0, line.count - new.count))
    terminal.writeError(Secret(utf8: "\r\(new)\(rest)"))
    line = new
  }
}

private let barWidth = 24
