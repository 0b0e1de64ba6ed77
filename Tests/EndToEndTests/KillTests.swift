import Foundation
import KistClient
import Subprocess
import Synchronization
import Testing

/// The number of times kistd is killed: `KIST_KILLS`, or 200.
private let kills = ProcessInfo.processInfo.environment["KIST_KILLS"].flatMap(Int.init) ?? 200

@Suite(.timeLimit(.minutes(10))) struct `SIGKILL to kistd` {
  @Test func `at random moments under load loses no acknowledged save`() async throws {
    let writers = (0..<8).map { Writer(key: CredentialKey(service: "counter", account: "\($0)")) }
    var random = SystemRandomNumberGenerator()
    try await withHome { home in
      for _ in 0..<kills {
        let delay = Duration.milliseconds(Int.random(in: 0...30, using: &random))
        let end = try await withDaemon(in: home) { daemon in
          for writer in writers { try await writer.check(daemon.connect()) }
          let (answers, answer) = AsyncStream.makeStream(of: Void.self)
          await withTaskGroup { group in
            for writer in writers {
              group.addTask { await writer.write(to: daemon.connect()) { answer.yield() } }
            }
            // The delay starts at the first answer, so that kistd is busy even on a slow machine.
            for await _ in answers.prefix(1) {}
            try? await Task.sleep(for: delay)
            daemon.send(.kill)
          }
        }
        #expect(end.status == .signaled(SIGKILL))
      }
      try await withDaemon(in: home) { daemon in
        for writer in writers { try await writer.check(daemon.connect()) }
        let found = try await daemon.connect().findAll()
        #expect(found.count == writers.count)
      }
    }
    #expect(writers.allSatisfy { $0.acknowledged > kills / 10 }, "too few saves to prove anything")
  }

  @Test func `during startup leaves a store that opens`() async throws {
    try await withHome { home in
      for _ in 0..<max(1, kills / 10) {
        let delay = Duration.microseconds(Int.random(in: 0...60_000))
        try await withDaemon(in: home, waitUntilReady: false) { daemon in
          try await Task.sleep(for: delay)
          daemon.send(.kill)
        }
      }
      try await withDaemon(in: home) { daemon in
        let credential = NewCredential(
          key: CredentialKey(service: "after"), secret: Secret(utf8: "kill"))
        try await daemon.connect().save(credential)
        #expect(try await daemon.connect().load(credential.key).secret == credential.secret)
      }
    }
  }
}

/// A client that counts up in one credential and remembers the last acknowledged count.
private final class Writer: Sendable {
  private struct State {
    var attempted = 0
    var acknowledged = 0
  }

  let key: CredentialKey
  private let state = Mutex(State())

  init(key: CredentialKey) { self.key = key }

  var acknowledged: Int { state.withLock(\.acknowledged) }

  /// Saves one count after another until kistd is gone.
  func write(to storage: UserStorage, whenAnswered: () -> Void) async {
    while true {
      let next = state.withLock { state in
        state.attempted += 1
        return state.attempted
      }
      let credential = NewCredential(key: key, secret: Secret(utf8: String(next)))
      guard (try? await storage.save(credential)) != nil else { return }
      state.withLock { $0.acknowledged = next }
      whenAnswered()
    }
  }

  /// Expects the last acknowledged count, or that of a later save without an answer.
  func check(_ storage: UserStorage) async throws {
    let (attempted, acknowledged) = state.withLock { ($0.attempted, $0.acknowledged) }
    let stored: Int
    do {
      let secret = try await storage.load(key).secret
      stored = secret.withBytes { bytes in
        bytes.indices.reduce(0) { $0 * 10 + Int(bytes[$1]) - 48 }
      }
    } catch {
      try #require(error.code == .notFound)
      stored = 0
    }
    #expect((acknowledged...attempted).contains(stored))
    state.withLock { state in
      state.attempted = stored
      state.acknowledged = stored
    }
  }
}
