/// A condition that was not met in time.
package struct NotInTime: Error, CustomStringConvertible {
  package let description: String
}

extension Duration {
  /// Longer than any program needs on a busy machine, unless it hangs.
  package static let unlessHung = Duration.seconds(120)
}

/// Waits until a condition holds.
///
/// - Throws: `NotInTime` if the condition does not hold in time.
package func poll(
  _ what: String, within bound: Duration = .unlessHung, _ isTrue: () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + bound
  while try await !isTrue() {
    guard ContinuousClock.now < end else { throw NotInTime(description: "not in time: \(what)") }
    try await Task.sleep(for: .milliseconds(5))
  }
}

/// Waits for a moment, even in a cancelled task.
func pause() async {
  await Task.detached { try? await Task.sleep(for: .milliseconds(2)) }.value
}
