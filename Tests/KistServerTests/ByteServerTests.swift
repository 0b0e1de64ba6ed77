import Foundation
import KistCore
import KistServer
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A server of bytes` {
  private func withByteServer(
    _ server: ByteServer,
    _ body: (_ path: String, _ serving: Task<Void, any Error>) async throws -> Void
  ) async throws {
    try await withDirectory { directory in
      let path = directory + "/s"
      let descriptor = try listen(at: path)
      let serving = Task { try await server.run(listeningOn: descriptor) }
      do { try await body(path, serving) } catch {
        serving.cancel()
        throw error
      }
      serving.cancel()
      try await serving.value
    }
  }

  @Test(arguments: [0, 1, 5_000, 500_000])
  func `answers each client, who says nothing, with all of them, and hangs up`(count: Int)
    async throws
  {
    let bytes = Secret(copying: [UInt8](repeating: 0x61, count: count))
    try await withByteServer(ByteServer { _ in bytes }) { path, _ in
      for _ in 0..<2 {
        let client = try RawClient(connectingTo: path)
        #expect(await client.rest().utf8.count == count)
      }
    }
  }

  @Test func `answers a client that has shut down its own side, as systemd does at once`()
    async throws
  {
    let gate = Gate()
    let server = ByteServer { peer in
      if !peer.abstractName.isEmpty { await gate.pass() }
      return Secret(utf8: "bytes")
    }
    try await withByteServer(server) { path, _ in
      let client = try RawClient(connectingTo: path, from: "kist-test-\(UUID().uuidString)")
      await gate.arrived(1)
      client.endSending()
      // When a later one has its answer, the server has seen that.
      #expect(try await RawClient(connectingTo: path).rest() == "bytes")
      gate.open()
      #expect(await client.rest() == "bytes")
    }
  }

  @Test func `tells who asks, and the abstract name that its socket has`() async throws {
    let peers = Mutex<[Peer]>([])
    let server = ByteServer { peer in
      peers.withLock { $0.append(peer) }
      return Secret(utf8: "x")
    }
    try await withByteServer(server) { path, _ in
      let name = "kist-test-\(UUID().uuidString)/unit/app.service/id"
      let bound = try RawClient(connectingTo: path, from: name)
      #expect(await bound.rest() == "x")
      let client = try RawClient(connectingTo: path)
      #expect(await client.rest() == "x")
      #expect(
        peers.withLock { $0.map(\.abstractName) } == [Array(name.utf8), []])
      #expect(peers.withLock { $0.allSatisfy { $0.pid == getpid() && $0.uid == getuid() } })
    }
  }

  @Test func `lets one wait its turn that is one too many, and refuses none`() async throws {
    let gate = Gate()
    let count = Mutex((now: 0, most: 0))
    let server = ByteServer(maximumConnections: 2) { _ in
      count.withLock {
        $0.now += 1
        $0.most = max($0.most, $0.now)
      }
      await gate.pass()
      count.withLock { $0.now -= 1 }
      return Secret(utf8: "x")
    }
    try await withByteServer(server) { path, _ in
      let clients = try (0..<8).map { _ in try RawClient(connectingTo: path) }
      await gate.arrived(2)
      gate.open()
      for client in clients { #expect(await client.rest() == "x") }
      #expect(count.withLock { $0.most } == 2)
    }
  }

  @Test func `cuts nobody off who is slow to read`() async throws {
    let bytes = Secret(copying: [UInt8](repeating: 0x61, count: 500_000))
    let server = ByteServer(maximumConnections: 1, grace: .milliseconds(1)) { _ in bytes }
    try await withByteServer(server) { path, _ in
      let slow = try RawClient(connectingTo: path)
      let next = try RawClient(connectingTo: path)
      // Longer than the grace, which is for the end only; what it shows does not hang on how long.
      try await Task.sleep(for: .milliseconds(50))
      #expect(await slow.rest().utf8.count == 500_000)
      #expect(await next.rest().utf8.count == 500_000)
    }
  }

  @Test func `waits at its end no longer than its grace for who does not read`() async throws {
    let bytes = Secret(copying: [UInt8](repeating: 0x61, count: 500_000))
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    let server = ByteServer(grace: .milliseconds(20)) { _ in
      ask.yield()
      return bytes
    }
    try await withByteServer(server) { path, serving in
      let deaf = try RawClient(connectingTo: path)
      for await _ in asked { break }
      serving.cancel()
      try await serving.value
      withExtendedLifetime(deaf) {}
    }
  }

  @Test func `ends without an error when its grace is over as soon as it begins`() async throws {
    let gate = Gate()
    let server = ByteServer(grace: .zero) { _ in
      await gate.pass()
      return Secret(utf8: "x")
    }
    try await withByteServer(server) { path, serving in
      let client = try RawClient(connectingTo: path)
      await gate.arrived(1)
      serving.cancel()
      gate.open()
      try await serving.value
      withExtendedLifetime(client) {}
    }
  }

  @Test func `answers those whom it has accepted when it is told to stop`() async throws {
    let gate = Gate()
    let server = ByteServer { _ in
      await gate.pass()
      return Secret(utf8: Task.isCancelled ? "cancelled" : "x")
    }
    try await withByteServer(server) { path, serving in
      let client = try RawClient(connectingTo: path)
      await gate.arrived(1)
      serving.cancel()
      gate.open()
      #expect(await client.rest() == "x")
      try await serving.value
      #expect(throws: POSIXError.self) { try RawClient(connectingTo: path) }
    }
  }
}
