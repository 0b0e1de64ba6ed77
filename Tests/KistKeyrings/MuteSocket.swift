/// Runs a test with the address of a bus that accepts connections but never sends anything.
package func withMuteSocket<Result>(
  _ body: (_ address: String) async throws -> Result
) async throws -> Result {
  try await withSession { session in
    let path = session.folder + "/mute"
    // The system accepts connections into the backlog; no process serves them.
    let socket = try BusSocket.listening(at: path)
    defer { socket.close() }
    return try await body("unix:path=\(path)")
  }
}
