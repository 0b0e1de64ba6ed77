import KistClient
import KistWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A connection` {
  @Test func `carries one line out and one line back`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { $0.answer { "<\($0)>" } }
      let exchange = connect(to: folder + "/s")
      #expect(try await exchange(Line("one")).text == "<one>")
      #expect(try await exchange(Line("two")).text == "<two>")
      withExtendedLifetime(peer) {}
    }
  }

  @Test func `is shared by fifty tasks, each of which gets its own replies`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { connection in
        connection.answer { "\(connection.number): \($0)" }
      }
      let exchange = connect(to: folder + "/s")
      try await withThrowingTaskGroup { group in
        for task in 0..<50 {
          group.addTask {
            for round in 0..<10 {
              let reply = try await exchange(Line("\(task).\(round)"))
              #expect(reply.text == "0: \(task).\(round)", "one connection, and the right reply")
            }
          }
        }
        try await group.waitForAll()
      }
      withExtendedLifetime(peer) {}
    }
  }

  @Test(arguments: [900 << 10, Limits.line])
  func `takes a long line as well as a short one, in both directions`(size: Int) async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { $0.answer() }
      let long = Line(String(repeating: "x", count: size))
      let exchange = connect(to: folder + "/s")
      #expect(try await exchange(long) == long)
      #expect(try await exchange(Line("short")).text == "short")
      withExtendedLifetime(peer) {}
    }
  }

  @Test func `is made again if it was closed while idle`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { connection in
        guard let line = connection.readLine() else { return }
        connection.write("\(connection.number): \(line)\n")
      }
      var closed = peer.closed.makeAsyncIterator()
      let exchange = connect(to: folder + "/s")
      for number in 0..<3 {
        #expect(try await exchange(Line("again")).text == "\(number): again")
        #expect(await closed.next() == number)
      }
    }
  }

  @Test func `is made again after unexpected bytes of the peer`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { connection in
        connection.answer { "\(connection.number): \($0)\nand another thing" }
      }
      let exchange = connect(to: folder + "/s")
      #expect(try await exchange(Line("a")).text == "0: a")
      #expect(try await exchange(Line("b")).text == "1: b")
      withExtendedLifetime(peer) {}
    }
  }

  @Test(arguments: [10, 900 << 10])
  func `gives the refusal of a peer that reads nothing`(size: Int) async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { $0.write("busy\n") }
      var closed = peer.closed.makeAsyncIterator()
      let exchange = connect(to: folder + "/s")
      for number in 0..<2 {
        let line = Line(String(repeating: "x", count: size))
        #expect(try await exchange(line).text == "busy")
        #expect(await closed.next() == number)
      }
    }
  }

  @Test func `leaves neither a thread nor a descriptor behind`() async throws {
    // In a process of its own, where nothing else makes any.
    await #expect(processExitsWith: .success) {
      try await withFolder { folder in
        let peer = try Peer(at: folder + "/s") { $0.answer() }
        var closed = peer.closed.makeAsyncIterator()
        var counts: [(threads: Int, descriptors: Int)] = []
        for round in 0..<100 {
          // Released, and so closed, at the end of the expression.
          #expect(try await connect(to: folder + "/s")(Line("\(round)")).text == "\(round)")
          #expect(await closed.next() == round)
          counts.append((entries(of: "/proc/self/task"), entries(of: "/proc/self/fd")))
        }
        #expect(counts.dropFirst(10).allSatisfy { $0.descriptors == counts[10].descriptors })
        // The pool of the tasks may grow to the number of processors, and no further.
        #expect(counts[99].threads < 50)
      }
    }
  }
}
