import Foundation

/// A virtual X server that runs during a session.
package struct Screen: Sendable {
  /// The value of `DISPLAY`.
  package let name: String
  private let session: Session

  package init(in session: Session) async throws {
    // By default, the server resets when its last client leaves. A program that connects during
    // the reset then waits forever, and xdotool is often the only client.
    let server = try session.start(
      "/usr/bin/Xvfb",
      ["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-screen", "0", "800x600x24"])
    try await poll("the X server is ready") {
      guard server.isRunning else { throw NotInTime(description: server.output.errors) }
      return server.output.text.hasSuffix("\n")
    }
    self.session = session
    name = ":" + server.output.text.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// A window that is shown.
  package struct Window: Equatable, Sendable {
    // The X server can give the number of a closed window to the window of another program.
    fileprivate let number: String
    fileprivate let process: String
  }

  /// Waits until a window is shown, and returns it.
  ///
  /// - Parameter last: a window that does not count.
  @discardableResult
  package func waitForWindow(after last: Window? = nil) async throws -> Window {
    var shown: Window?
    try await poll("a window is shown") {
      shown = try await window()
      return shown != nil && shown != last
    }
    return shown!
  }

  /// Whether a window is shown.
  package func hasWindow() async throws -> Bool { try await window() != nil }

  private func window() async throws -> Window? {
    let found = try await xdotool("search", "--onlyvisible", "--name", ".")
    guard let number = found.text.split(separator: "\n").first.map(String.init) else { return nil }
    let process = try await xdotool("getwindowpid", number)
    return process.status == 0 ? Window(number: number, process: process.text) : nil
  }

  /// Types a text into the window, and then presses the keys.
  package func type(_ text: String, _ keys: String..., in window: Window) async throws {
    // No window manager gives a new window the focus, so that its first keys would be lost.
    _ = try await xdotool("windowfocus", "--sync", window.number)
    if !text.isEmpty { _ = try await xdotool("type", text) }
    for key in keys { _ = try await xdotool("key", key) }
  }

  private func xdotool(_ words: String...) async throws -> Output {
    try await session.run("/usr/bin/xdotool", words, environment: ["DISPLAY": name])
  }
}
