import KistClient
import KistTesting
import KistWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A remote watch` {
  @Test func `reads line after line, however they come`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { connection in
        #expect(connection.readLine() == #"{"op":"watch","service":"s"}"#)
        connection.write(#"{"ok":true,"position":"a.1"}"# + "\n" + #"{"event":"re"#)
        connection.write(
          "set\"}\n{\"event\":\"deleted\",\"service\":\"s\"}\n{\"event\":\"reset\"}\n")
      }
      let changes = try await WatchCredentials.remote(socketPath: folder + "/s")(service: "s")
      #expect(changes.position == Revision(rawValue: "a.1"))
      let iterator = changes.makeAsyncIterator()
      for change in [.reset, .deleted(CredentialKey(service: "s"), nil), .reset]
        as [CredentialChange]
      {
        #expect(try await iterator.next() == change)
      }
      let error = await #expect(throws: StorageError.self) { try await iterator.next() }
      #expect(error?.message == "the connection to kistd ended")
      await expect(.unavailable) { try await iterator.next() }
      withExtendedLifetime(peer) {}
    }
  }

  @Test func `ends with the reason for its refusal or its end`() async throws {
    try await withFolder { folder in
      let busy = #"{"ok":false,"error":{"code":"busy","message":"x"}}"# + "\n"
      let peer = try Peer(at: folder + "/s") { connection in
        if connection.number > 0 {
          _ = connection.readLine()
          if connection.number == 2 { connection.write(#"{"ok":true}"# + "\n") }
        }
        connection.write(busy)
      }
      let watch = WatchCredentials.remote(socketPath: folder + "/s")
      await expect(.busy) { try await watch() }
      await expect(.busy) { try await watch() }
      let iterator = try await watch().makeAsyncIterator()
      await expect(.busy) { try await iterator.next() }
      withExtendedLifetime(peer) {}
      await expect(.unavailable) {
        try await WatchCredentials.remote(socketPath: folder + "/nobody")()
      }
    }
  }

  @Test func `hangs up when its task is cancelled, and when it is released`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { connection in
        connection.answer { _ in #"{"ok":true}"# }
      }
      var closed = peer.closed.makeAsyncIterator()
      let watch = WatchCredentials.remote(socketPath: folder + "/s")
      let waiting = Task { [changes = try await watch()] in
        try await changes.makeAsyncIterator().next()
      }
      waiting.cancel()
      #expect(try await waiting.value == nil)
      #expect(await closed.next() == 0)
      var changes: CredentialChanges? = try await watch()
      withExtendedLifetime(changes) {}
      changes = nil
      #expect(await closed.next() == 1)
    }
  }

  @Test func `has a deadline for its reply`() async throws {
    try await withFolder { folder in
      let peer = try Peer(at: folder + "/s") { while $0.readLine() != nil {} }
      let watch = WatchCredentials.remote(
        over: openWatch(at: folder + "/s", deadline: .milliseconds(50)))
      await expect(.timeout) { try await watch() }
      withExtendedLifetime(peer) {}
    }
  }
}
