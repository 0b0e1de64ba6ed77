import Foundation

/// A virtual X server that runs during a session.
struct Screen: Sendable {
  /// The value of `DISPLAY`.
  let name: String

  init(in session: Session) async throws {
    let server = try session.start(
      "/usr/bin/Xvfb", ["-displayfd", "1", "-nolisten", "tcp", "-screen", "0", "800x600x24"])
    try await poll("the X server is ready") {
      guard server.isRunning else { throw NotInTime(description: server.output.errors) }
      return server.output.text.hasSuffix("\n")
    }
    name = ":" + server.output.text.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
