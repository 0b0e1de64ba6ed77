import Foundation
import KistServer
import KistWire
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct `Stopping` {
  @Test func `replies in flight and requests already sent are finished`() async throws {
    let gate = Gate()
    let wasCancelled = Atomic(false)
    let waiting: Serve = { _, _ in
      { line in
        await gate.pass()
        if Task.isCancelled { wasCancelled.store(true, ordering: .relaxed) }
        return line
      }
    }
    try await withServer(serve: waiting) { server in
      let client = try server.connect()
      // More than one read takes, so that some still lies in the kernel when the server stops.
      let lines = (1...5_000).map { "request \($0)\n" }.joined()
      await client.send(lines)
      let idle = try server.connect()
      await gate.arrived(1)
      server.stop()
      #expect(await idle.rest() == "", "idle connections are closed")
      gate.open()
      #expect(await client.rest() == lines)
      try await server.ended()
      #expect(throws: POSIXError.self) { try server.connect() }
    }
    let cancelled = wasCancelled.load(ordering: .relaxed)
    #expect(!cancelled)
  }

  @Test func `a request that never ends is abandoned after the grace`() async throws {
    let gate = Gate()
    let waiting: Serve = { _, _ in
      { line in
        await gate.pass()
        return line
      }
    }
    try await withServer(serve: waiting, configured: { $0.grace = .milliseconds(20) }) { server in
      let client = try server.connect()
      await client.send("a\n")
      await gate.arrived(1)
      server.stop()
      try await server.ended()
      #expect(await client.rest() == "")
      #expect(server.logged.contains { $0["connections"] == "1" })
    }
  }

  @Test func `a server that is stopped before it begins ends at once`() async throws {
    try await withServer { $0.stop() }
  }
}
