import KistClient
import KistWire
import Testing

/// The program that the current task serves.
private enum Current {
  @TaskLocal static var program: ClaimedProgram?
}

@Suite(.timeLimit(.minutes(5))) struct `A remote storage` {
  private static let found = #"{"ok":true,"credentials":[]}"#

  @Test func `repeats a read once when the connection is lost`() async throws {
    try await withFolder { folder in
      let log = Log()
      let peer = try Peer(at: folder + "/s") { connection in
        log.append(connection.readLine())
        if connection.number > 0 { connection.write(Self.found + "\n") }
      }
      let storage = UserStorage.remote(socketPath: folder + "/s")
      #expect(try await storage.find(CredentialQuery()).credentials.isEmpty)
      #expect(log.lines.count == 2)
      withExtendedLifetime(peer) {}
    }
  }

  @Test func `names a program for each request, over one connection`() async throws {
    try await withFolder { folder in
      let log = Log()
      let peer = try Peer(at: folder + "/s") { connection in
        while let line = connection.readLine() {
          log.append("\(connection.number) \(line)")
          connection.write(Self.found + "\n")
        }
      }
      let kistd = Endpoints.remote(socketPath: folder + "/s", onBehalfOf: { Current.program })
      for program in [nil, ClaimedProgram(program: "gh", pid: 42), ClaimedProgram(unit: "b.scope")]
      {
        try await Current.$program.withValue(program) {
          _ = try await kistd.credentials.find(CredentialQuery(service: "s"))
        }
      }
      #expect(
        log.lines == [
          #"0 {"op":"find","service":"s"}"#,
          #"0 {"op":"find","onBehalfOf":{"program":"gh","pid":42},"service":"s"}"#,
          #"0 {"op":"find","onBehalfOf":{"unit":"b.scope"},"service":"s"}"#,
        ])
      withExtendedLifetime(peer) {}
    }
  }

  @Test func `asks a kistd that does not know the program again, without it`() async throws {
    try await withFolder { folder in
      let log = Log()
      let refusal =
        #"{"ok":false,"error":{"code":"badRequest","message":"an unknown key at byte 12"}}"#
      let answers = [
        refusal,
        #"{"ok":true,"protocol":1,"version":"0.1.0","operations":["find"],"features":["keep"],"#
          + #""durability":"disk"}"#, Self.found,
      ]
      let peer = try Peer(at: folder + "/s") { connection in
        for answer in answers {
          log.append(connection.readLine())
          connection.write(answer + "\n")
        }
      }
      let kistd = Endpoints.remote(
        socketPath: folder + "/s", onBehalfOf: { ClaimedProgram(program: "gh") })
      #expect(try await kistd.credentials.find(CredentialQuery(service: "s")).credentials.isEmpty)
      #expect(
        log.lines == [
          #"{"op":"find","onBehalfOf":{"program":"gh"},"service":"s"}"#, #"{"op":"hello"}"#,
          #"{"op":"find","service":"s"}"#,
        ])
      withExtendedLifetime(peer) {}
    }
  }

  @Test func `asks twice at most, and reports no outcome`() async throws {
    try await withFolder { folder in
      let log = Log()
      let peer = try Peer(at: folder + "/s") { log.append($0.readLine()) }
      let storage = UserStorage.remote(socketPath: folder + "/s")
      let error = await #expect(throws: StorageError.self) {
        try await storage.load(CredentialKey(service: "s"))
      }
      #expect(error?.code == .unavailable)
      #expect(error?.outcome == nil)
      let access = StorageAccess.remote(socketPath: folder + "/s")
      await #expect(throws: StorageError.self) { try await access.status() }
      let slots = KeySlots.remote(socketPath: folder + "/s")
      await #expect(throws: StorageError.self) { try await slots.list() }
      #expect(log.lines.count == 6)
      withExtendedLifetime(peer) {}
    }
  }

  @Test(arguments: Change.allCases)
  func `never repeats a change`(change: Change) async throws {
    try await withFolder { folder in
      let log = Log()
      let peer = try Peer(at: folder + "/s") { log.append($0.readLine()) }
      var closed = peer.closed.makeAsyncIterator()
      let error = await #expect(throws: StorageError.self) {
        try await change.make(folder + "/s")
      }
      #expect(error?.code == .unavailable)
      #expect(error?.outcome == .unknown)
      #expect(await closed.next() == 0)
      #expect(log.lines.count == 1)
    }
  }

  enum Change: CaseIterable {
    case save, delete, lock, unlock

    func make(_ path: String) async throws {
      switch self {
      case .save:
        let credential = NewCredential(key: CredentialKey(service: "s"), secret: Secret(utf8: "x"))
        try await UserStorage.remote(socketPath: path).save(credential)
      case .delete:
        try await UserStorage.remote(socketPath: path).delete(CredentialKey(service: "s"))
      case .lock: _ = try await StorageAccess.remote(socketPath: path).lock()
      case .unlock: _ = try await StorageAccess.remote(socketPath: path).unlock(nil)
      }
    }
  }
}
