import KistClient
import KistCore
import KistServer
import KistTesting
import KistWire
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A watching connection` {
  private let storage = OpenStorage.inMemory()

  private func save(_ account: String = "alice") async throws -> String {
    let key = CredentialKey(service: "example.org", account: account)
    let saved = try await storage.credentials.save(.sample(key))
    return #"{"event":"saved","service":"example.org","account":"\#(account)","#
      + #""revision":"\#(saved.revision.rawValue)"}"# + "\n"
  }

  @Test func `receives the reply, then each change, and no answer to any other line`()
    async throws
  {
    try await withServer(serve: serve(storage)) { server in
      let before = try await save()
      let position = try #require(before.firstMatch(of: /revision":"([^"]+)/)).1
      let client = try server.connect()
      await client.send(#"{"op":"watch","id":7}"# + "\n" + #"{"op":"status"}"# + "\n")
      #expect(await client.line() == #"{"ok":true,"id":7,"position":"\#(position)"}"# + "\n")
      await client.send(String(repeating: #"{"op":"lock"}"# + "\n", count: 100))
      for account in ["a", "b", "c"] {
        let change = try await save(account)
        #expect(await client.line() == change)
      }
      try await storage.credentials.delete(
        CredentialKey(service: "example.org", account: "a"))
      #expect(await client.line().hasPrefix(#"{"event":"deleted","service":"example.org","#))
    }
  }

  @Test func `receives changes after it has ended its stream`() async throws {
    try await withServer(serve: serve(storage)) { server in
      let client = try server.connect()
      await client.send(#"{"op":"watch"}"# + "\n")
      client.endSending()
      #expect(await client.line().hasPrefix(#"{"ok":true"#))
      for _ in 0..<3 {
        let change = try await save()
        #expect(await client.line() == change)
      }
    }
  }

  @Test func `receives the reason for the end, and is closed`() async throws {
    try await withServer(serve: serve(storage)) { server in
      let client = try server.connect()
      await client.send(#"{"op":"watch"}"# + "\n")
      #expect(await client.line().hasPrefix(#"{"ok":true"#))
      await storage.close()
      #expect(await client.rest().hasPrefix(#"{"ok":false,"error":{"code":"unavailable","#))
    }
  }

  @Test func `is closed at once when the server stops, whether or not it reads`() async throws {
    try await withServer(serve: serve(storage), configured: { $0.grace = .seconds(600) }) {
      server in
      let clients = [try server.connect(), try server.connect()]
      for client in clients {
        await client.send(#"{"op":"watch"}"# + "\n")
        #expect(await client.line().hasPrefix(#"{"ok":true"#))
      }
      let change = try await save()
      #expect(await clients[0].line() == change)
      // More than the socket of the one that does not read any more has room for.
      for _ in 0..<20_000 { _ = try await save() }
      server.stop()
      try await server.ended()
    }
  }

  @Test func `that does not read gets a bounded number of changes, and delays no other`()
    async throws
  {
    let taken = Atomic(0)
    let endless: Serve = { _, registerStream in
      { line in
        if line.text == "watch" {
          registerStream { () throws(StorageError) in
            taken.add(1, ordering: .relaxed)
            return Line(String(repeating: "x", count: 1000))
          }
        }
        return line
      }
    }
    try await withServer(serve: endless) { server in
      let deaf = try server.connect()
      await deaf.send("watch\n")
      let other = try server.connect()
      for number in 0..<100 {
        await other.send("\(number)\n")
        #expect(await other.line() == "\(number)\n")
      }
      let count = taken.load(ordering: .relaxed)
      #expect(count > 0 && count < 2000)
      // Once it reads, it goes on.
      #expect(await deaf.line() == "watch\n")
      #expect(await deaf.bytes(4_000_000).utf8.count == 4_000_000)
      #expect(taken.load(ordering: .relaxed) > 3900)
    }
  }

  @Test func `releases the storage when its client disconnects`() async throws {
    let (ended, end) = AsyncStream.makeStream(of: Bool.self)
    let changes = try await storage.watch()
    let listening: Serve = { _, registerStream in
      { line in
        registerStream { () throws(StorageError) in
          let change = try await changes.makeAsyncIterator().next()
          end.yield(change == nil)
          return change.map { Line($0.json()) }
        }
        return line
      }
    }
    for sendsToTheEnd in [true, false] {
      try await withServer(serve: listening) { server in
        var client: RawClient? = try server.connect()
        await client?.send("watch\n")
        if !sendsToTheEnd { client?.endSending() }
        #expect(await client?.line() == "watch\n")
        client = nil
        var iterator = ended.makeAsyncIterator()
        #expect(await iterator.next() == true)
      }
    }
  }

  @Test func `is evicted after connections without a watch`() async throws {
    try await withServer(serve: serve(storage), configured: { $0.maximumConnections = 2 }) {
      server in
      let watcher = try server.connect()
      await watcher.send(#"{"op":"watch"}"# + "\n")
      #expect(await watcher.line().hasPrefix(#"{"ok":true"#))
      var others: [RawClient] = []
      for place in 0..<3 {
        others.append(try server.connect())
        await others[place].send(#"{"op":"status"}"# + "\n")
        #expect(await others[place].line().hasPrefix(#"{"ok":true"#))
      }
      #expect(await others[1].rest().contains("busy"))
      let change = try await save()
      #expect(await watcher.line() == change)
      // Its lines do not protect it from eviction.
      await watcher.send(#"{"op":"status"}"# + "\n")
      let second = try server.connect()
      await second.send(#"{"op":"watch"}"# + "\n")
      #expect(await second.line().hasPrefix(#"{"ok":true"#))
      let third = try server.connect()
      await third.send(#"{"op":"status"}"# + "\n")
      #expect(await third.line().hasPrefix(#"{"ok":true"#))
      #expect(await watcher.rest().hasPrefix(#"{"ok":false,"error":{"code":"busy","#))
      let last = try await save()
      #expect(await second.line() == last)
    }
  }

  @Test func `is what a client of ours reads, up to the end of the server`() async throws {
    try await withServer(serve: serve(storage)) { server in
      let changes = try await WatchCredentials.remote(socketPath: server.path)()
      let iterator = changes.makeAsyncIterator()
      for number in 0..<2000 { _ = try await save("\(number)") }
      var last: CredentialChange?
      while last?.key?.account != "1999" { last = try await iterator.next() }
      server.stop()
      await expect(.unavailable) { try await iterator.next() }
      await expect(.unavailable) { try await iterator.next() }
    }
  }
}
