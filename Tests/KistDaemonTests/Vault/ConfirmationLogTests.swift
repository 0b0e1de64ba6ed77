import KistCore
import Logging
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(1))) struct `The log of the confirmations of a vault` {
  private let away = StorageError(.unavailable, "the cluster cannot be reached")

  @Test func `has a line when they fail for the second time, and one when they succeed again`() {
    let recorded = RecordingLog()
    let log = ConfirmationLog(Logger(label: "test") { _ in recorded })
    for problem in [nil, away, nil, nil, away, away, away, nil, nil] { log.note(problem) }
    #expect(recorded.lines.count == 2)
    #expect(recorded.lines.first?.hasPrefix("warning: ") == true)
    #expect(recorded.lines.first?.contains(away.message) == true)
    #expect(recorded.lines.last?.hasPrefix("notice: ") == true)
  }
}
