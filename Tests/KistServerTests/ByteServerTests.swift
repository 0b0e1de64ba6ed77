import Foundation
import KistCore
import KistServer
import Logging
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

  /// A server that puts each client into the group of its abstract name up to a `/`.
  private func server(
    maximumConnections: Int = 64, deadline: Duration = .seconds(600),
    crowdedDeadline: Duration = .seconds(600),
    grace: Duration = .seconds(10),
    bytes: @escaping @Sendable (Peer) async -> Secret
  ) -> ByteServer {
    var server = ByteServer(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) {
      peer in
      let group = peer.abstractName.split(separator: UInt8(ascii: "/")).first
      return ByteServer.Answer(group: group.map { String(decoding: $0, as: UTF8.self) }) {
        await bytes(peer)
      }
    }
    server.maximumConnections = maximumConnections
    server.deadline = deadline
    server.crowdedDeadline = crowdedDeadline
    server.grace = grace
    return server
  }

  private static let many = Secret(copying: [UInt8](repeating: 0x61, count: 500_000))

  @Test(arguments: [0, 1, 5_000, 500_000])
  func `sends all bytes to each silent client, and hangs up`(count: Int)
    async throws
  {
    let bytes = Secret(copying: [UInt8](repeating: 0x61, count: count))
    try await withByteServer(server { _ in bytes }) { path, _ in
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
    let server = server { peer in
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

  @Test func `passes on the peer and the abstract name of its socket`() async throws {
    let peers = Mutex<[Peer]>([])
    let server = server { peer in
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

  @Test func `lets a client over the limit wait, and refuses none`() async throws {
    let gate = Gate()
    let count = Mutex((now: 0, most: 0))
    let server = server(maximumConnections: 2) { _ in
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

  @Test func `lets a client wait while each other one reads and has its own group`()
    async throws
  {
    let server = server(maximumConnections: 1, grace: .milliseconds(1)) { _ in Self.many }
    try await withByteServer(server) { path, _ in
      let slow = try RawClient(connectingTo: path, from: "\(UUID())/slow")
      let next = try RawClient(connectingTo: path, from: "\(UUID())/next")
      // Longer than the grace, which is for the end only; what it shows does not hang on how long.
      try await Task.sleep(for: .milliseconds(50))
      #expect(await slow.rest().utf8.count == 500_000)
      #expect(await next.rest().utf8.count == 500_000)
    }
  }

  @Test(arguments: [true, false])
  func `closes the oldest client of a group that does not read, at the limit`(
    isNextOfTheGroup: Bool
  ) async throws {
    try await withByteServer(server(maximumConnections: 3) { _ in Self.many }) { path, _ in
      let (group, other) = (UUID(), UUID())
      let alone = try RawClient(connectingTo: path, from: "\(other)/alone")
      let oldest = try RawClient(connectingTo: path, from: "\(group)/oldest")
      // The server closes only connections to which it has begun to send.
      #expect(await oldest.bytes(1).utf8.count == 1)
      let newer = try RawClient(connectingTo: path, from: "\(group)/newer")
      let next = try RawClient(
        connectingTo: path, from: "\(isNextOfTheGroup ? group : UUID())/next")
      #expect(await next.rest().utf8.count == 500_000)
      #expect(await newer.rest().utf8.count == 500_000)
      #expect(await alone.rest().utf8.count == 500_000)
      #expect(await oldest.rest().utf8.count < 499_999)
    }
  }

  @Test func `closes a client without a group before any other`() async throws {
    try await withByteServer(server(maximumConnections: 3) { _ in Self.many }) { path, _ in
      let group = UUID()
      let older = try RawClient(connectingTo: path, from: "\(group)/older")
      let newer = try RawClient(connectingTo: path, from: "\(group)/newer")
      let stranger = try RawClient(connectingTo: path)
      let next = try RawClient(connectingTo: path, from: "\(UUID())/next")
      for client in [next, newer, older] {
        #expect(await client.rest().utf8.count == 500_000)
      }
      #expect(await stranger.rest().utf8.count < 500_000)
    }
  }

  @Test func `serves others while a thousand clients hold connections and read nothing`()
    async throws
  {
    try await withByteServer(server { _ in Self.many }) { path, _ in
      let deaf = try (0..<1000).map { _ in try RawClient(connectingTo: path) }
      for _ in 0..<4 {
        let next = try RawClient(connectingTo: path, from: "\(UUID())/next")
        #expect(await next.rest().utf8.count == 500_000)
      }
      withExtendedLifetime(deaf) {}
    }
  }

  @Test func `serves others while clients in a hundred groups hold connections and read nothing`()
    async throws
  {
    let server = server(crowdedDeadline: .milliseconds(20)) { _ in Self.many }
    try await withByteServer(server) { path, _ in
      // The backlog is shorter, so that connect(2) waits for the server.
      let deaf = try await offThePool {
        Result {
          try (0..<300).map { try RawClient(connectingTo: path, from: "\($0 / 3)-\(path)/\($0)") }
        }
      }.get()
      for _ in 0..<4 {
        let next = try RawClient(connectingTo: path, from: "\(UUID())/next")
        #expect(await next.rest().utf8.count == 500_000)
      }
      withExtendedLifetime(deaf) {}
    }
  }

  @Test func `closes a client that has not read its bytes by the deadline`() async throws {
    let server = server(maximumConnections: 1, deadline: .milliseconds(200)) { peer in
      peer.abstractName.contains(UInt8(ascii: "/")) ? Self.many : Secret(utf8: "x")
    }
    try await withByteServer(server) { path, _ in
      let deaf = try RawClient(connectingTo: path, from: "\(UUID())/deaf")
      let next = try RawClient(connectingTo: path, from: "\(UUID())")
      #expect(await next.rest() == "x")
      #expect(await deaf.rest().utf8.count < 500_000)
    }
  }

  @Test func `closes at once a client that it has no answer for`() async throws {
    var server = ByteServer(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) { _ in
      nil
    }
    server.maximumConnections = 1
    try await withByteServer(server) { path, _ in
      for _ in 0..<3 {
        let client = try RawClient(connectingTo: path)
        #expect(await client.rest() == "")
      }
    }
  }

  @Test func `waits at its end no longer than its grace for a client that does not read`()
    async throws
  {
    let bytes = Secret(copying: [UInt8](repeating: 0x61, count: 500_000))
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    let server = server(grace: .milliseconds(20)) { _ in
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
    let server = server(grace: .zero) { _ in
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

  @Test func `answers the accepted clients when it is stopped`() async throws {
    let gate = Gate()
    let server = server { _ in
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
