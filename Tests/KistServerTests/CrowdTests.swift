import KistServer
import KistWire
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A full server` {
  @Test func `evicts a connection without requests, and reports that to the client and the log`()
    async throws
  {
    try await withServer(configured: {
      $0.maximumConnections = 2
      $0.logInterval = .seconds(600)
    }) { server in
      let asking = try server.connect()
      await asking.send("a\n")
      #expect(await asking.line() == "a\n")
      for number in 0..<5 {
        let silent = try server.connect()
        let next = try server.connect()
        await next.send("\(number)\n")
        #expect(await next.line() == "\(number)\n")
        let word = await silent.rest()
        #expect(word.contains("\"busy\""))
        #expect(word.contains("the limit is 2\""))
        next.endSending()
        #expect(await next.rest() == "")
      }
      await asking.send("b\n")
      #expect(await asking.line() == "b\n")
      #expect(server.logged.count == 1, "the log is not flooded")
    }
  }

  @Test func `evicts the connection with the oldest last request`() async throws {
    try await withServer(configured: { $0.maximumConnections = 3 }) { server in
      var clients: [RawClient] = []
      for _ in 0..<3 { clients.append(try await server.connectAndAsk()) }
      await clients[0].send("again\n")
      #expect(await clients[0].line() == "again\n")
      clients.append(try await server.connectAndAsk())
      #expect(await clients[1].rest().contains("\"busy\""))
      clients.append(try await server.connectAndAsk())
      #expect(await clients[2].rest().contains("\"busy\""))
      for client in [clients[0], clients[3], clients[4]] {
        await client.send("still here\n")
        #expect(await client.line() == "still here\n")
      }
    }
  }

  @Test func `lets a new client send its first request while others connect again`() async throws {
    try await withServer(configured: { $0.maximumConnections = 8 }) { server in
      var others: [RawClient] = []
      for _ in 0..<8 { others.append(try await server.connectAndAsk()) }
      let new = try server.connect()
      // Each of these evicts a connection that has had its reply.
      for _ in 0..<20 { others.append(try await server.connectAndAsk()) }
      await new.send("first\n")
      #expect(await new.line() == "first\n")
    }
  }

  @Test func `evicts connections without requests if they are more than a quarter`() async throws {
    try await withServer(configured: { $0.maximumConnections = 8 }) { server in
      var asking: [RawClient] = []
      for _ in 0..<5 { asking.append(try await server.connectAndAsk()) }
      var silent: [RawClient] = []
      for _ in 0..<20 { silent.append(try server.connect()) }
      #expect(await silent[0].rest().contains("\"busy\""))
      for client in asking {
        await client.send("still here\n")
        #expect(await client.line() == "still here\n")
      }
    }
  }

  @Test(arguments: ["", "asked\n"])
  func `evicts a connection with an unfinished line, and never carries the line out`(before: String)
    async throws
  {
    let lines = Mutex<[String]>([])
    let recording: Serve = { _, _ in
      { line in
        lines.withLock { $0.append(line.text) }
        return line
      }
    }
    try await withServer(serve: recording, configured: { $0.maximumConnections = 1 }) { server in
      let slow = try server.connect()
      await slow.send(before + "save")
      if !before.isEmpty { #expect(await slow.line() == before) }
      var answer = ""
      // Until what was sent is read, it may be a request.
      repeat {
        let next = try server.connect()
        await next.send("next\n")
        answer = await next.line()
      } while answer.contains("\"busy\"")
      #expect(answer == "next\n")
      #expect(await slow.rest().contains("\"busy\""))
    }
    #expect(lines.withLock { !$0.contains { $0.contains("save") } })
  }

  @Test func `refuses a connection while all others have requests in progress, and cuts none off`()
    async throws
  {
    let gate = Gate()
    let waiting: Serve = { _, _ in
      { line in
        await gate.pass()
        return line
      }
    }
    try await withServer(
      serve: waiting,
      configured: {
        $0.maximumConnections = 2
        $0.logInterval = .seconds(600)
      }
    ) { server in
      let clients = [try server.connect(), try server.connect()]
      for client in clients { await client.send("a\n") }
      await gate.arrived(2)
      for _ in 1...3 {
        #expect(await (try server.connect()).rest().contains("\"busy\""))
      }
      #expect(server.logged.count == 1, "the log is not flooded")
      gate.open()
      for client in clients { #expect(await client.line() == "a\n") }
    }
  }

  @Test func `evicts a client that does not read its replies if no other loses less`()
    async throws
  {
    let (answered, answer) = AsyncStream.makeStream(of: Void.self)
    let large: Serve = { _, _ in
      { line in
        if line.text != "large" { return line }
        answer.yield()
        return Line(String(repeating: "x", count: 1_000_000))
      }
    }
    try await withServer(serve: large, configured: { $0.maximumConnections = 2 }) { server in
      let deaf = try server.connect()
      await deaf.send("large\nlarge\n")
      for await _ in answered { break }
      var idle = try await server.connectAndAsk()
      // A client that can ask again loses its place first.
      let next = try await server.connectAndAsk()
      #expect(await idle.rest().contains("\"busy\""))
      await next.send("large\n")
      for await _ in answered { break }
      idle = try await server.connectAndAsk()
      let cut = await deaf.rest()
      #expect(cut.count < 1_000_000)
      #expect(!cut.contains("busy"), "no word within a reply")
      #expect(await next.line().count == 1_000_001)
      await idle.send("b\n")
      #expect(await idle.line() == "b\n")
    }
  }

  @Test func `carries out exactly the requests that it accepted`() async throws {
    let carriedOut = Mutex<Set<String>>([])
    let recording: Serve = { _, _ in
      { line in
        await Task.yield()
        carriedOut.withLock { _ = $0.insert(line.text) }
        return line
      }
    }
    try await withServer(serve: recording, configured: { $0.maximumConnections = 2 }) { server in
      let answered = try await withThrowingTaskGroup { group in
        for client in 0..<20 {
          group.addTask {
            var answered: Set<String> = []
            for round in 0..<10 {
              let connection = try server.connect()
              let line = "\(client).\(round)"
              await connection.send(line + "\n")
              let answer = await connection.line()
              if answer == line + "\n" {
                answered.insert(line)
              } else {
                #expect(answer.contains("\"busy\""), "\(answer)")
              }
            }
            return answered
          }
        }
        return try await group.reduce(into: Set<String>()) { $0.formUnion($1) }
      }
      #expect(answered == carriedOut.withLock { $0 })
      #expect(!answered.isEmpty)
    }
  }
}

extension RunningServer {
  /// A client that was answered.
  fileprivate func connectAndAsk() async throws -> RawClient {
    let client = try connect()
    await client.send("a\n")
    #expect(await client.line() == "a\n")
    return client
  }
}
