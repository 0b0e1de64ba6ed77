import Foundation
import Glibc
import KistTerminal
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Signals that are noted` {
  @Test func `are returned one after another, and each only once`() async throws {
    await #expect(processExitsWith: .success) {
      let first = try notedSignals()
      first.raiseUnblocked(SIGTERM)
      first.raiseUnblocked(SIGHUP)
      #expect(first.first() == SIGTERM)
      #expect(first.first() == SIGHUP)
      #expect(first.first() == nil)
      first.raiseUnblocked(SIGINT)
      first.end()
      let second = try notedSignals()
      #expect(second.first() == nil)
      second.raiseUnblocked(SIGINT)
      #expect(second.first() == SIGINT)
      second.end()
    }
  }

  @Test func `end the process again afterwards`() async throws {
    await #expect(processExitsWith: .signal(SIGTERM)) {
      let signals = try notedSignals()
      signals.end()
      signals.raiseUnblocked(SIGTERM)
    }
  }

  // What a handler on another thread writes late is written where it was to be, and nowhere else.
  @Test func `come through descriptors that are nobody else's as long as the process runs`()
    async throws
  {
    await #expect(processExitsWith: .success) {
      try notedSignals().end()
      let before = try openPipes()
      for _ in 0..<100 {
        let signals = try notedSignals()
        signals.raiseUnblocked(SIGTERM)
        signals.end()
        #expect(try openPipes() == before)
      }
    }
  }
}

/// Which pipe each descriptor of this process is that is one.
private func openPipes() throws -> [String: String] {
  let folder = "/proc/self/fd"
  var files: [String: String] = [:]
  for number in try FileManager.default.contentsOfDirectory(atPath: folder) {
    let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(number)")
    if let file, file.hasPrefix("pipe:") { files[number] = file }
  }
  return files
}
