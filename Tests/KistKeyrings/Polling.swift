/// What a test waited for and did not come.
package struct NotInTime: Error, CustomStringConvertible {
  package let description: String
}

/// Asks until the answer is yes.
///
/// - Throws: `NotInTime` after a bound that only a hung program reaches.
package func poll(
  _ what: String, within bound: Duration = .seconds(30), _ isTrue: () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + bound
  while try await !isTrue() {
    guard ContinuousClock.now < end else { throw NotInTime(description: "not in time: \(what)") }
    try await Task.sleep(for: .milliseconds(5))
  }
}

/// Lets a moment pass, also in a task that was cancelled.
func pause() async {
  await Task.detached { try? await Task.sleep(for: .milliseconds(2)) }.value
}
