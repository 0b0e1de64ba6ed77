import KistCluster
import KistClusterSocket
import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `An adapter that breaks the protocol` {
  private let commit = Commit.change(1, after: nil)

  /// Replies to a commit, and to a read of the head.
  private static let wrongReplies = [
    "",
    "\n",
    #"{"ok":true"#,
    #"{"ok":true,"id":1,"committed":true,"position":"1","head":null}"#,
    "garbage\n",
    "\u{0}\n",
    "[]\n",
    "{}\n",
    #"{"ok":true,"committed":true,"position":"1","head":null}"# + "\n",
    #"{"ok":true,"id":2,"committed":true,"position":"1","head":null}"# + "\n",
    #"{"ok":true,"id":"1","committed":true,"position":"1","head":null}"# + "\n",
    #"{"ok":true,"id":1,"committed":true,"position":1,"head":null}"# + "\n",
    #"{"ok":true,"id":1,"committed":true,"position":"01","head":null}"# + "\n",
    #"{"ok":true,"id":1,"committed":true,"position":"-1","head":null}"# + "\n",
    #"{"ok":true,"id":1,"committed":true,"position":"18446744073709551616","head":null}"# + "\n",
    #"{"ok":true,"id":1,"committed":null,"head":"x","position":"1"}"# + "\n",
    #"{"ok":false,"id":1}"# + "\n",
    #"{"ok":false,"id":2,"error":{"code":"busy","message":"m"}}"# + "\n",
    #"{"ok":false,"id":1,"error":{"code":"notFound","message":"m"}}"# + "\n",
    #"{"ok":false,"id":1,"error":{"code":"locked","message":"m"}}"# + "\n",
    #"{"ok":false,"id":1,"error":{"code":"someday","message":"m"}}"# + "\n",
    String(repeating: "[", count: 100_000) + "\n",
    String(repeating: "a", count: 2 << 20 + 1),
  ]

  @Test(arguments: wrongReplies.indices)
  func `leaves the outcome of a commit unknown, and makes a read unavailable`(index: Int)
    async throws
  {
    let reply = Self.wrongReplies[index]
    let adapter = try ScriptedAdapter { _ in reply }
    for _ in 0..<2 {
      let cluster = adapter.cluster()
      let change = await expect(.unavailable) { try await cluster.commit(commit) }
      #expect(change?.outcome == .unknown)
      let other = adapter.cluster()
      let read = await expect(.unavailable) { try await other.head(1) }
      #expect(read?.outcome == nil)
    }
    withExtendedLifetime(adapter) {}
  }

  @Test(arguments: ["full", "busy", "denied", "tooLarge", "badRequest", "unavailable"])
  func `is not one that reports an error and its outcome`(code: String) async throws {
    let error = #""error":{"code":"\#(code)","message":"m","outcome":"unchanged"}"#
    let adapter = try ScriptedAdapter { _ in #"{"ok":false,"id":1,\#(error)}"# + "\n" }
    let cluster = adapter.cluster()
    let thrown = await expect(try #require(StorageError.Code(rawValue: code))) {
      try await cluster.commit(commit)
    }
    #expect(thrown?.outcome == .unchanged && thrown?.message == "m")
    withExtendedLifetime(adapter) {}
  }

  @Test func `cannot say that a single head is too large`() async throws {
    let adapter = try ScriptedAdapter { _ in
      #"{"ok":false,"id":1,"error":{"code":"tooLarge","message":"m"}}"# + "\n"
    }
    let error = await expect(.unavailable) { try await adapter.cluster().head(1) }
    #expect(error?.message == "m")
    await expect(.tooLarge) {
      try await adapter.cluster().records([.head(generation: 1), .roster(number: 1)])
    }
    withExtendedLifetime(adapter) {}
  }

  @Test func `cannot make an error of any length`() async throws {
    let text = String(repeating: "m", count: 1 << 19)
    let adapter = try ScriptedAdapter { _ in
      #"{"ok":false,"error":{"code":"busy","message":"\#(text)","hint":"\#(text)"}}"# + "\n"
    }
    let cluster = adapter.cluster()
    let error = try #require(await expect(.busy) { try await cluster.commit(commit) })
    #expect(error.message.utf8.count < 1 << 10 && error.hint == nil)
    withExtendedLifetime(adapter) {}
  }

  @Test func `has at most eight warnings, and none that is too long`() async throws {
    let texts = [String(repeating: "x", count: 1025)] + (1...9).map { "warning \($0)" }
    let list = texts.map { "\"\($0)\"" }.joined(separator: ",")
    let adapter = try ScriptedAdapter { _ in
      #"{"ok":true,"id":1,"head":null,"position":"7","warnings":[\#(list)]}"# + "\n"
    }
    let reading = try await adapter.cluster().head(1)
    #expect(reading.warnings == Array(texts[1...8]))
    withExtendedLifetime(adapter) {}
  }

  @Test func `does not end the cluster for the calls after it`() async throws {
    let adapter = try ScriptedAdapter { number in
      number == 0 ? #"{"ok":tr"# : #"{"ok":true,"id":2,"head":"AQ==","position":"7"}"# + "\n"
    }
    let cluster = adapter.cluster(connections: 1)
    await expect(.unavailable) { try await cluster.head(1) }
    #expect(try await cluster.head(1) == HeadReading(head: [1], position: ClusterPosition(7)))
    withExtendedLifetime(adapter) {}
  }

  @Test func `by silence makes each call unavailable at the deadline`() async throws {
    let adapter = try ScriptedAdapter { _ in nil }
    let cluster = Cluster.remote(socketPath: adapter.path, deadline: .milliseconds(100))
    let change = await expect(.unavailable) { try await cluster.commit(commit) }
    #expect(change?.outcome == .unknown)
    await expect(.unavailable) { try await cluster.head(1) }
    await expect(.unavailable) {
      try await cluster.changes(ChangesRequest(generation: 1, after: ClusterPosition(0)))
    }
    withExtendedLifetime(adapter) {}
  }

  @Test(arguments: [
    #"{"ok":true,"id":1,"records":[]}"#, #"{"ok":true,"id":1,"records":[null,null]}"#,
  ])
  func `by another number of records makes the read unavailable`(reply: String) async throws {
    let adapter = try ScriptedAdapter { _ in reply + "\n" }
    let cluster = adapter.cluster()
    await expect(.unavailable) { try await cluster.records([.roster(number: 1)]) }
    withExtendedLifetime(adapter) {}
  }

  private static let wrongEvents = [
    "garbage\n", "{}\n", #"{"event":"other"}"# + "\n", #"{"event":"commit","position":"2"}"#,
    #"{"event":"commit","position":"2","puts":{"x":""},"deletes":[]}"# + "\n", "",
    #"{"ok":false,"error":{"code":"notFound","message":"m"}}"# + "\n",
    String(repeating: "a", count: 2 << 20 + 1),
  ]

  @Test(arguments: wrongEvents.indices)
  func `ends the changes with an error, and no event follows`(index: Int) async throws {
    let fault = Self.wrongEvents[index]
    let good =
      #"{"event":"commit","position":"1","puts":{"roster/0000000000000001":"AQ=="},"deletes":[]}"#
      + "\n"
    let adapter = try ScriptedAdapter { _ in #"{"ok":true}"# + "\n" + good + fault + good }
    let iterator = try await adapter.cluster()
      .changes(ChangesRequest(generation: 1, after: ClusterPosition(0))).makeAsyncIterator()
    let first = fault.isEmpty ? 2 : 1
    for _ in 0..<first {
      #expect(try await iterator.next()?.writes?.puts == [.roster(number: 1): [1]])
    }
    let error = await expect(.unavailable) { try await iterator.next() }
    #expect(error?.outcome == nil)
    #expect(try await iterator.next() == nil)
    withExtendedLifetime(adapter) {}
  }
}

extension ScriptedAdapter {
  /// The cluster of this adapter, with time for an adapter that starts late on a busy machine.
  fileprivate func cluster(connections: Int = 4) -> Cluster {
    Cluster.remote(socketPath: path, connections: connections, deadline: .seconds(240))
  }
}
