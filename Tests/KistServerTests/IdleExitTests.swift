import Foundation
import KistServer
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A server with an idle exit` {
  @Test func `ends when no client has been connected for that long`() async throws {
    let idle = IdleExit(after: .milliseconds(20)) { true }
    try await withServer(configured: { $0.idleExit = idle }) { server in
      try await server.ended()
      #expect(throws: POSIXError.self) { try server.connect() }
    }
  }

  @Test func `does not end while a client is connected, even a silent one`() async throws {
    let wasAsked = Atomic(false)
    let idle = IdleExit(after: .milliseconds(20)) {
      wasAsked.store(true, ordering: .relaxed)
      return true
    }
    try await withServer(configured: { $0.idleExit = idle }) { server in
      let client = try server.connect()
      await client.send("a\n")
      #expect(await client.line() == "a\n")
      // Time for it to go wrong; what it shows does not hang on how long.
      try await Task.sleep(for: .milliseconds(100))
      await client.send("b\n")
      #expect(await client.line() == "b\n")
      let whileConnected = wasAsked.load(ordering: .relaxed)
      #expect(!whileConnected)
      client.endSending()
      #expect(await client.rest() == "")
      try await server.ended()
    }
  }

  @Test func `continues if it may not end, and asks again`() async throws {
    let count = Mutex(0)
    let idle = IdleExit(after: .milliseconds(10)) {
      count.withLock { count in
        count += 1
        return count == 3
      }
    }
    try await withServer(configured: { $0.idleExit = idle }) { server in
      try await server.ended()
    }
    #expect(count.withLock { $0 } == 3)
  }

  @Test func `does not end if a client connects while it asks`() async throws {
    let gate = Gate()
    let isStopping = Atomic(false)
    let idle = IdleExit(after: .milliseconds(10)) {
      await gate.pass()
      return true
    } whenStopping: {
      isStopping.store(true, ordering: .relaxed)
    }
    try await withServer(configured: { $0.idleExit = idle }) { server in
      await gate.arrived(1)
      let client = try server.connect()
      await client.send("a\n")
      #expect(await client.line() == "a\n")
      gate.open()
      await client.send("b\n")
      #expect(await client.line() == "b\n")
      let isToldToStop = isStopping.load(ordering: .relaxed)
      #expect(!isToldToStop)
    }
  }
}

@Suite(.timeLimit(.minutes(5))) struct `A server with a heartbeat` {
  @Test func `reports once that it serves, and regularly that it runs`() async throws {
    let (beats, beat) = AsyncStream.makeStream(of: Void.self)
    let (starts, start) = AsyncStream.makeStream(of: Void.self)
    try await withServer(configured: {
      $0.whenServing = { start.yield() }
      $0.heartbeat = Heartbeat(every: .milliseconds(1)) { beat.yield() }
    }) { _ in
      for await _ in starts { break }
      var iterator = beats.makeAsyncIterator()
      for _ in 0..<5 { await iterator.next() }
    }
    start.finish()
    for await _ in starts { Issue.record("it reported that again") }
  }

  @Test func `is silent while its loop hangs`() async throws {
    let isHanging = Atomic(false)
    let (beats, beat) = AsyncStream.makeStream(of: Bool.self)
    let hang: Serve = { _, _ in
      { line in
        isHanging.store(true, ordering: .relaxed)
        _ = poll(nil, 0, 100)
        isHanging.store(false, ordering: .relaxed)
        return line
      }
    }
    try await withServer(
      serve: hang,
      configured: {
        $0.heartbeat = Heartbeat(every: .milliseconds(1)) {
          beat.yield(isHanging.load(ordering: .relaxed))
        }
      }
    ) { server in
      let client = try server.connect()
      await client.send("a\n")
      #expect(await client.line() == "a\n")
    }
    beat.finish()
    for await whileHanging in beats { #expect(!whileHanging) }
  }
}
