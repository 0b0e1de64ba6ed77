/// What a test waited for and did not come.
package struct NotInTime: Error, CustomStringConvertible {
  package let description: String
}

extension Duration {
  /// Longer than any program takes that does not hang, on a machine that does much else as well.
  package static let unlessHung = Duration.seconds(120)
}

/// Asks until the answer is yes.
///
/// - Throws: `NotInTime` where the answer stays no.
package func poll(
  _ what: String, within bound: Duration = .unlessHung, _ isTrue: () async throws -> Bool
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
