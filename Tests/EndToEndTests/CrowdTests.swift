import KistClient
import Testing

@Suite(.timeLimit(.minutes(5))) struct `More clients than connections` {
  @Test func `are all served, and notice nothing`() async throws {
    try await withHome { home in
      let end = try await withDaemon(in: home, ["--max-connections", "4"]) { daemon in
        try await ask(daemon, clients: 12)
      }
      #expect(end.log.contains("evicted a connection"))
    }
  }

  @Test func `are all served by a kistd that may open few files, which says so`() async throws {
    try await withHome { home in
      let end = try await withDaemon(in: home, files: 70) { daemon in
        try await ask(daemon, clients: 100)
      }
      #expect(end.log.contains("serving fewer connections at once than the limit"))
      #expect(end.log.contains("evicted a connection"))
    }
  }

  /// Has clients save and load in turn, each over a connection that it holds.
  private func ask(_ daemon: Daemon, clients: Int) async throws {
    let storages = (0..<clients).map { _ in daemon.connect() }
    for round in 0..<3 {
      for (number, storage) in storages.enumerated() {
        let key = CredentialKey(service: "crowd", account: "\(number)")
        let secret = Secret(utf8: "\(round)")
        try await storage.save(NewCredential(key: key, secret: secret))
        #expect(try await storage.load(key).secret == secret)
      }
    }
  }
}
