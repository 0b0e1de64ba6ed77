import Glibc
import KistClient
import KistWire
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A request that waits on its caller's thread` {
  @Test func `is sent over the connection that an earlier request has opened`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { connection in
        connection.answer { "\(connection.number): \($0)" }
      }
      let waits = Waits()
      let exchange = connect(to: folder + "/s", threads: 4, waiting: waits.wait)
      #expect(try await exchange(Line("one")).text == "0: one")
      #expect(waits.count == 0, "a thread connects, and makes the first request")
      #expect(try await exchange(Line("two")).text == "0: two")
      #expect(waits.count > 0)
      withExtendedLifetime(peer) {}
    }
  }

  @Test func `takes long lines, and replies that come in pieces`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { connection in
        while let line = connection.readLine() {
          connection.write(line)
          connection.write(String(repeating: "x", count: 100 << 10) + "\n")
        }
      }
      let exchange = connect(to: folder + "/s", waiting: Waits().wait)
      for line in ["a", "b", String(repeating: "c", count: 900 << 10), "d"] {
        let reply = try await exchange(Line(line)).text
        #expect(reply == line + String(repeating: "x", count: 100 << 10))
      }
      withExtendedLifetime(peer) {}
    }
  }

  @Test func `waits for a connection if all are in use`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { $0.answer() }
      let exchange = connect(to: folder + "/s", waiting: Waits().wait)
      try await withThrowingTaskGroup { group in
        for task in 0..<50 {
          group.addTask {
            for round in 0..<10 {
              let line = "\(task).\(round)"
              let reply = try await exchange(Line(line))
              #expect(reply.text == line)
            }
          }
        }
        try await group.waitForAll()
      }
      withExtendedLifetime(peer) {}
    }
  }

  @Test func `opens the connection again if it was closed while idle`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { connection in
        for _ in 0..<2 {
          guard let line = connection.readLine() else { return }
          connection.write("\(connection.number): \(line)\n")
        }
      }
      var closed = peer.closed.makeAsyncIterator()
      let exchange = connect(to: folder + "/s", waiting: Waits().wait)
      for number in 0..<3 {
        #expect(try await exchange(Line("a")).text == "\(number): a")
        #expect(try await exchange(Line("b")).text == "\(number): b")
        #expect(await closed.next() == number)
      }
    }
  }

  @Test(arguments: ["", "{\"ok\":true"])
  func `has an unknown outcome if the connection ends before the reply`(
    reply: String
  ) async throws {
    try await withFolder { folder in
      let log = Log()
      let peer = try Peer(at: folder + "/s") { connection in
        if let line = connection.readLine() { connection.write(line + "\n") }
        guard let line = connection.readLine() else { return }
        log.append(line)
        connection.write(reply)
      }
      let exchange = connect(to: folder + "/s", waiting: Waits().wait)
      #expect(try await exchange(Line("first")).text == "first")
      let error = await failure { () throws(StorageError) in try await exchange(Line("change")) }
      #expect(error?.code == .unavailable)
      #expect(error?.outcome == .unknown)
      #expect(log.lines == ["change"], "it was not repeated")
      #expect(try await exchange(Line("next")).text == "next")
      withExtendedLifetime(peer) {}
    }
  }

  @Test func `has an unknown outcome after the deadline, and closes the connection`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { connection in
        if let line = connection.readLine() { connection.write(line + "\n") }
        _ = connection.readLine()
        _ = connection.readLine()
      }
      var closed = peer.closed.makeAsyncIterator()
      // Long enough for the first line on a machine that is busy.
      let exchange = connect(to: folder + "/s", deadline: .seconds(2), waiting: Waits().wait)
      #expect(try await exchange(Line("first")).text == "first")
      let error = await failure { () throws(StorageError) in try await exchange(Line("change")) }
      #expect(error?.code == .timeout)
      #expect(error?.outcome == .unknown)
      #expect(await closed.next() == 0, "a late reply must not be taken for the next request's")
    }
  }

  @Test func `gets the reply before unexpected bytes, and closes the connection`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { connection in
        if let line = connection.readLine() { connection.write("\(connection.number): \(line)\n") }
        if let line = connection.readLine() { connection.write("\(line)\nand another thing") }
        _ = connection.readLine()
      }
      let exchange = connect(to: folder + "/s", waiting: Waits().wait)
      #expect(try await exchange(Line("a")).text == "0: a")
      #expect(try await exchange(Line("b")).text == "b")
      #expect(try await exchange(Line("c")).text == "1: c")
      withExtendedLifetime(peer) {}
    }
  }
}

/// An event loop that only waits for replies.
private final class Waits: Sendable {
  private let waits = Atomic(0)

  var count: Int { waits.load(ordering: .relaxed) }

  var wait: ReplyWait {
    { descriptor, end in
      self.waits.add(1, ordering: .relaxed)
      var descriptor = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      // Other tests share the thread.
      while .now < end, unsafe poll(&descriptor, 1, 1) == 0 { await Task.yield() }
    }
  }
}
