import KistClient
import KistServer
import KistWire
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct `The life of a connection` {
  @Test func `requests of one connection run one after another`() async throws {
    let running = Atomic(0)
    let most = Atomic(0)
    let counting: Serve = { _, _ in
      { line in
        most.max(running.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
        for _ in 0..<10 { await Task.yield() }
        running.subtract(1, ordering: .relaxed)
        return line
      }
    }
    try await withServer(serve: counting) { server in
      let client = try server.connect()
      await client.send(String(repeating: "x\n", count: 100))
      client.endSending()
      #expect(await client.rest().count == 200)
    }
    let together = most.load(ordering: .relaxed)
    #expect(together == 1)
  }

  @Test func `a waiting request delays no other connection`() async throws {
    let gate = Gate()
    let waiting: Serve = { _, _ in
      { line in
        if line.text == "wait" { await gate.pass() }
        return line
      }
    }
    try await withServer(serve: waiting) { server in
      let slow = try server.connect()
      await slow.send("wait\n")
      await gate.arrived(1)
      let quick = try server.connect()
      await quick.send("go\n")
      #expect(await quick.line() == "go\n")
      gate.open()
      #expect(await slow.line() == "wait\n")
    }
  }

  @Test func `requests of a client with several connections are under way at once`() async throws {
    let gate = Gate()
    let waiting: Serve = { _, _ in
      { line in
        await gate.pass()
        return line
      }
    }
    try await withServer(serve: waiting) { server in
      let exchange = KistClient.connect(to: server.path, threads: 3)
      try await withThrowingTaskGroup { group in
        for number in 0..<6 {
          group.addTask {
            let reply = try await exchange(Line("\(number)"))
            #expect(reply.text == "\(number)")
          }
        }
        await gate.arrived(3)
        gate.open()
        try await group.waitForAll()
      }
    }
  }

  @Test(arguments: [3, 200, 20_000])
  func `requests of a client that has disconnected are carried out`(_ count: Int) async throws {
    let (served, serve) = AsyncStream.makeStream(of: Bool.self)
    let counting: Serve = { _, _ in
      { line in
        await Task.yield()
        serve.yield(Task.isCancelled)
        return line
      }
    }
    try await withServer(serve: counting) { server in
      var client: RawClient? = try server.connect()
      await client?.send((1...count).map { "save \($0)\n" }.joined())
      client = nil
      var iterator = served.makeAsyncIterator()
      for _ in 1...count { #expect(await iterator.next() == false) }
    }
  }

  @Test
  func
    `a client that disconnects during a reply has its requests carried out and disturbs no other client`()
    async throws
  {
    let (carriedOut, carryOut) = AsyncStream.makeStream(of: String.self)
    let large: Serve = { _, _ in
      { line in
        carryOut.yield(line.text)
        return Line(String(repeating: "x", count: 1_000_000))
      }
    }
    try await withServer(serve: large) { server in
      var client: RawClient? = try server.connect()
      await client?.send("a\nb\nc\n")
      // The first reply is on its way, and more of it than the socket holds.
      #expect(await client?.bytes(1) == "x")
      client = nil
      let other = try server.connect()
      await other.send("d\n")
      #expect(await other.line().count == 1_000_001)
      var requests = carriedOut.makeAsyncIterator()
      var seen: Set<String> = []
      for _ in 1...4 { seen.insert(await requests.next() ?? "") }
      #expect(seen == ["a", "b", "c", "d"])
    }
  }

  @Test func `a request that only reads is not performed for a client that has disconnected`()
    async throws
  {
    let gate = Gate()
    let (carriedOut, carryOut) = AsyncStream.makeStream(of: String.self)
    let waiting: Serve = { _, _ in
      { line in
        carryOut.yield(line.text)
        if line.text == "wait" { await gate.pass() }
        return Line(String(repeating: "x", count: 100_000))
      }
    }
    try await withServer(serve: waiting) { server in
      var client: RawClient? = try server.connect()
      await client?.send("wait\n{\"op\":\"load\"}\n{\"op\":\"save\"}\n")
      client = nil
      await gate.arrived(1)
      gate.open()
      var requests = carriedOut.makeAsyncIterator()
      #expect(await requests.next() == "wait")
      #expect(await requests.next() == "{\"op\":\"save\"}")
    }
  }

  @Test func `a client that has ended its stream and does not read gets no more answers than fit`()
    async throws
  {
    let answers = Atomic(0)
    let large: Serve = { _, _ in
      { line in
        if line.text != "x" { return line }
        answers.add(1, ordering: .relaxed)
        return Line(String(repeating: "x", count: 1_000_000))
      }
    }
    try await withServer(serve: large) { server in
      let deaf = try server.connect()
      await deaf.send(String(repeating: "x\n", count: 20))
      deaf.endSending()
      let other = try server.connect()
      for _ in 0..<100 {
        await other.send("a\n")
        #expect(await other.line() == "a\n")
      }
      let answered = answers.load(ordering: .relaxed)
      #expect(answered < 10)
      withExtendedLifetime(deaf) {}
    }
  }

  @Test func `large replies reach a client that has ended its stream`() async throws {
    let large: Serve = { _, _ in { _ in Line(String(repeating: "x", count: 1_000_000)) } }
    try await withServer(serve: large) { server in
      let client = try server.connect()
      await client.send("a\nb\nc\n")
      client.endSending()
      #expect(await client.rest().count == 3_000_003)
    }
  }
}
