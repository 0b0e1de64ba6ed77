import Foundation
import KistCluster
import KistClusterSocket
import KistCore
import KistSystem
import KistTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A cluster at a socket` {
  private let engine = MemoryEngine()
  private let all = ChangesRequest(generation: 1, after: ClusterPosition(0))

  @Test func `has a socket that only the user can connect to`() throws {
    let adapter = try RunningAdapter(serving: engine.cluster)
    let status = try #require(fileStatus(of: adapter.path))
    #expect(status.isKind(S_IFSOCK) && status.st_mode & 0o777 == 0o600)
  }

  @Test func `is unavailable if no adapter listens, and no commit was sent`() async throws {
    let cluster = Cluster.remote(socketPath: "/tmp/kist-cluster-missing/cluster.sock")
    let error = await expect(.unavailable) { try await cluster.commit(.change(1, after: nil)) }
    #expect(error?.outcome == .unchanged)
    let read = await expect(.unavailable) { try await cluster.head(1) }
    #expect(read?.outcome == nil && read?.message.contains("no adapter is listening") == true)
    await expect(.unavailable) { try await cluster.changes(all) }
  }

  @Test func `ends the changes with unavailable when the adapter stops`() async throws {
    let adapter = try RunningAdapter(serving: engine.cluster)
    let cluster = adapter.cluster
    let changes = try await cluster.changes(all)
    async let ended = expect(.unavailable) { try await changes.take(1) }
    try await adapter.stop()
    _ = await ended
    await expect(.unavailable) { try await cluster.head(1) }
  }

  @Test func `does not read changes ahead of a caller that takes none`() async throws {
    let most = 16
    let reported = Mutex(0)
    var endless = engine.cluster
    endless.changes = { _ in
      ClusterChanges {
        let number = reported.withLock { count in
          count += 1
          return count
        }
        if number > most { return .compacted }
        let puts = [RecordName.roster(number: 1): [UInt8](repeating: 1, count: 1 << 20)]
        return .commit(
          CommittedWrites(position: ClusterPosition(UInt64(number)), puts: puts, deletes: []))
      }
    }
    let cluster = try Way.socket.to(endless)
    let changes = try await cluster.changes(all)
    // The adapter answers these on the thread on which it would report further changes.
    for _ in 0..<200 { _ = try await cluster.head(1) }
    #expect(reported.withLock(\.self) < most)
    // Each change then arrives once.
    let events = try await changes.take(most + 1)
    #expect(events.compactMap(\.writes?.position.number) == (1...UInt64(most)).map(\.self))
    #expect(events.last == .compacted)
  }

  @Test func `answers a page with the rows that fit into a line`() async throws {
    let rows = (1...5).map {
      ListPage.Row(key: RecordID(7, $0), bytes: [UInt8](repeating: 1, count: 640 << 10))
    }
    var large = engine.cluster
    large.list = { request in
      let rest = rows.filter { row in request.after.map { row.key > $0 } ?? true }
      return .page(ListPage(rows: rest, isLast: true, position: ClusterPosition(1)))
    }
    let cluster = try Way.socket.to(large)
    var request = ListRequest(generation: 1, firstByte: 7)
    var received: [ListPage.Row] = []
    while true {
      guard case .page(let page) = try await cluster.list(request) else { throw Unexpected() }
      received += page.rows
      if page.isLast { break }
      request.after = page.rows.last?.key
    }
    #expect(received == rows)
  }

  @Test func `refuses records that do not fit into a line together`() async throws {
    // Another database than that in memory can answer more than fits into a line.
    var database = engine.cluster
    database.records = { $0.map { _ in [UInt8](repeating: 1, count: 640 << 10) } }
    let cluster = try Way.socket.to(database)
    await expect(.tooLarge) { try await cluster.records([row(1), row(2), row(3)]) }
    #expect(try await cluster.records([row(1), row(2)]).allSatisfy { $0?.count == 640 << 10 })
  }

  private static let wrongRequests = [
    ("{}", "badRequest"), ("garbage", "badRequest"), (#"{"op":"load"}"#, "unknownOperation"),
    (#"{"op":"head"}"#, "badRequest"), (#"{"op":"head","generation":-1}"#, "badRequest"),
    (#"{"op":"head","generation":4294967296}"#, "badRequest"),
    (#"{"op":"head","generation":1,"other":1}"#, "badRequest"),
    (#"{"op":"list","generation":1,"firstByte":256}"#, "badRequest"),
    (#"{"op":"list","generation":1,"firstByte":1,"after":"00"}"#, "badRequest"),
    (#"{"op":"list","generation":1,"firstByte":1,"position":1}"#, "badRequest"),
    (#"{"op":"records","names":["../roster"]}"#, "badRequest"),
    (#"{"op":"records","names":["00000001/row/0000000000000000000000000000000A"]}"#, "badRequest"),
    (#"{"op":"commit","puts":{"roster/0000000000000001":"A"},"deletes":[]}"#, "badRequest"),
    (
      #"{"op":"commit","puts":{"roster/0000000000000001":"AQ=="},"deletes":["roster/0000000000000001"]}"#,
      "badRequest"
    ),
    (#"{"op":"commit","expected":{"generation":1},"puts":{},"deletes":[]}"#, "badRequest"),
    (#"{"op":"changes","generation":1}"#, "badRequest"),
  ]

  @Test(arguments: wrongRequests)
  func `refuses a wrong request, and then answers a right one`(request: String, code: String)
    async throws
  {
    let adapter = try RunningAdapter(serving: engine.cluster)
    let client = try RawSocket(connectingTo: adapter.path)
    #expect(await client.reply(to: request).contains(#""code":"\#(code)""#))
    let reply = await client.reply(to: #"{"op":"head","id":1,"generation":1}"#)
    #expect(reply == #"{"ok":true,"id":1,"head":null,"position":"0"}"#)
    withExtendedLifetime(adapter) {}
  }

  @Test func `refuses a commit above the limits of a cluster, and lines above its own`()
    async throws
  {
    let count = Mutex(0)
    var withoutLimits = engine.cluster
    withoutLimits.commit = { _ in
      count.withLock { $0 += 1 }
      return .headDiffers
    }
    let adapter = try RunningAdapter(serving: withoutLimits)
    let client = try RawSocket(connectingTo: adapter.path)
    let record = Data(count: 1 << 20 + 1).base64EncodedString()
    let commit = #"{"op":"commit","puts":{"roster/0000000000000001":"\#(record)"},"deletes":[]}"#
    #expect(await client.reply(to: commit).contains(#""code":"tooLarge""#))
    let tooLong = String(repeating: " ", count: 2 << 20 + 1)
    #expect(await client.reply(to: tooLong).contains(#""code":"tooLarge""#))
    #expect(await client.reply(to: "").isEmpty)
    #expect(count.withLock(\.self) == 0)
    withExtendedLifetime(adapter) {}
  }
}
