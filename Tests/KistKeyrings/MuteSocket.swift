/// Runs a test with the address of a bus that lets clients connect, and never says a word.
package func withMuteSocket<Result>(
  _ body: (_ address: String) async throws -> Result
) async throws -> Result {
  try await withSession { session in
    let path = session.folder + "/mute"
    // Nobody accepts what the system lets connect.
    let socket = try BusSocket.listening(at: path)
    defer { socket.close() }
    return try await body("unix:path=\(path)")
  }
}
