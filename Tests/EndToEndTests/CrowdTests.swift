import KistClient
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(5))) struct `Clients beyond the connection limit` {
  @Test func `are all served without an error`() async throws {
    try await withHome { home in
      let end = try await withDaemon(in: home, ["--max-connections", "4"]) { daemon in
        try await ask(daemon, clients: 12)
      }
      #expect(end.log.contains("evicted a connection"))
    }
  }

  @Test func `are all served if kistd may open few files, and kistd logs the lower limit`()
    async throws
  {
    try await withHome { home in
      let end = try await withDaemon(in: home, files: 70) { daemon in
        try await ask(daemon, clients: 100)
      }
      #expect(end.log.contains("serving fewer connections than the limit"))
      #expect(end.log.contains("evicted a connection"))
    }
  }

  @Test func `are not served at all if kistd may open too few files for itself`() async throws {
    try await withHome { home in
      for files in [16, 21, 63] {
        let end = try await command(
          "prlimit", ["--nofile=\(files)", "kistd", "--", "true"], in: home)
        #expect(end.status == .exited(7), "\(end.error)")
        #expect(end.error.contains("the limit of open files is \(files)"))
      }
      let end = try await command("prlimit", ["--nofile=64", "kistd", "--", "true"], in: home)
      #expect(end.status == .exited(0), "\(end.error)")
    }
  }

  @Test func `are served again after the limit of open files was too low, and kistd ends normally`()
    async throws
  {
    try await withHome { home in
      for limits in [["0:0"], ["0:", "1024:"]] {
        let end = try await withDaemon(in: home) { daemon in
          for limit in limits {
            let set = try await command(
              "prlimit", ["--pid", "\(daemon.processIdentifier)", "--nofile=\(limit)"], in: home)
            try #require(set.status == .exited(0), "\(set.error)")
            let script = """
              import os, socket
              for _ in range(20):
                  client = socket.socket(socket.AF_UNIX)
                  client.connect(os.environ["SOCKET"])
                  client.send(b'{"op":"hello"}\\n')
              """
            let clients = try await command(
              "env", ["SOCKET=\(home.socket)", "python3", "-c", script], in: home)
            #expect(clients.status == .exited(0), "\(clients.error)")
          }
          if limits.count > 1 { try await ask(daemon, clients: 2) }
        }
        #expect(end.status == .exited(0), "\(end.log)")
      }
    }
  }

  /// Saves and loads with each client in turn, each over its own open connection.
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
