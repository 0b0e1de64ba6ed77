import KistClient
import KistWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A lost connection` {
  @Test(arguments: ["", "{\"ok\":true"])
  func `before the end of the reply leaves the outcome unknown`(reply: String) async throws {
    try await withFolder { folder in
      let log = Log()
      let peer = try Peer(at: folder + "/s") { connection in
        log.append(connection.readLine())
        connection.write(reply)
      }
      var closed = peer.closed.makeAsyncIterator()
      let error = await failure { () throws(StorageError) in
        try await connect(to: folder + "/s")(Line("change"))
      }
      #expect(error?.code == .unavailable)
      #expect(error?.outcome == .unknown)
      _ = await closed.next()
      #expect(log.lines == ["change"], "it was not repeated")
    }
  }

  @Test func `does not end the connection for the requests after it`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { connection in
        if connection.number == 0 { _ = connection.readLine() } else { connection.answer() }
      }
      let exchange = connect(to: folder + "/s")
      let error = await failure { () throws(StorageError) in try await exchange(Line("a")) }
      #expect(error?.outcome == .unknown)
      #expect(try await exchange(Line("b")).text == "b")
      withExtendedLifetime(peer) {}
    }
  }

  @Test func `to a peer that always closes at once is found before anything is sent`()
    async throws
  {
    try await withFolder { folder in
      let log = Log()
      let peer = try Peer(at: folder + "/s") { connection in
        log.append("connection \(connection.number)")
      }
      var closed = peer.closed.makeAsyncIterator()
      let error = await failure { () throws(StorageError) in
        try await connect(to: folder + "/s")(Line("change"))
      }
      #expect(error?.code == .unavailable)
      _ = await closed.next()
      #expect(log.lines.count <= 2, "it is tried twice at most")
    }
  }

  @Test func `after the deadline is a timeout with an unknown outcome`() async throws {
    try await withFolder { folder in
      let log = Log()
      let peer = try Peer(at: folder + "/s") { connection in
        while let line = connection.readLine() { log.append(line) }
      }
      var closed = peer.closed.makeAsyncIterator()
      // Long enough for a line to be sent on a machine that is busy.
      let exchange = connect(to: folder + "/s", deadline: .seconds(2))
      let error = await failure { () throws(StorageError) in try await exchange(Line("change")) }
      #expect(error?.code == .timeout)
      #expect(error?.message == "kistd did not answer within 2.0 seconds")
      // The deadline is the client's own, so that no option of kistd moves it.
      #expect(error?.hint?.contains("--deadline") == false)
      #expect(error?.outcome == .unknown)
      #expect(await closed.next() == 0, "a late reply must not be taken for the next request's")
      #expect(log.lines == ["change"])
    }
  }

  @Test func `with a deadline that passed before anything was sent has changed nothing`()
    async throws
  {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { $0.answer() }
      let exchange = connect(to: folder + "/s", deadline: .zero)
      let error = await failure { () throws(StorageError) in try await exchange(Line("change")) }
      #expect(error?.code == .timeout)
      #expect(error?.outcome == .unchanged)
      withExtendedLifetime(peer) {}
    }
  }

  @Test func `after a reply without an end is a fault of kistd`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { connection in
        _ = connection.readLine()
        connection.write(String(repeating: "x", count: Limits.line + 1))
      }
      let error = await failure { () throws(StorageError) in
        try await connect(to: folder + "/s")(Line("change"))
      }
      #expect(error?.code == .internal)
      #expect(error?.outcome == .unknown)
      withExtendedLifetime(peer) {}
    }
  }
}
