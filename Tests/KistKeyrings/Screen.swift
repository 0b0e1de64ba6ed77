import Foundation

/// A virtual X server that runs during a session.
package struct Screen: Sendable {
  /// The value of `DISPLAY`.
  package let name: String
  private let session: Session

  package init(in session: Session) async throws {
    let server = try session.start(
      "/usr/bin/Xvfb", ["-displayfd", "1", "-nolisten", "tcp", "-screen", "0", "800x600x24"])
    try await poll("the X server is ready") {
      guard server.isRunning else { throw NotInTime(description: server.output.errors) }
      return server.output.text.hasSuffix("\n")
    }
    self.session = session
    name = ":" + server.output.text.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Waits until a window is shown.
  package func waitForWindow() async throws {
    try await poll("a window is shown") { try await hasWindow() }
  }

  /// Whether a window is shown.
  package func hasWindow() async throws -> Bool {
    try await xdotool("search", "--onlyvisible", "--name", ".").status == 0
  }

  /// Types a text into the window, and then presses the keys.
  package func type(_ text: String, _ keys: String...) async throws {
    // No window manager gives a new window the focus, so that its first keys would be lost.
    _ = try await xdotool("search", "--onlyvisible", "--name", ".", "windowfocus", "--sync")
    if !text.isEmpty { _ = try await xdotool("type", text) }
    for key in keys { _ = try await xdotool("key", key) }
  }

  private func xdotool(_ words: String...) async throws -> Output {
    try await session.run("/usr/bin/xdotool", words, environment: ["DISPLAY": name])
  }
}
