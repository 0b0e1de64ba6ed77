#if Libsecret
  import KistClient
  import KistKeyrings
  import Subprocess
  import Testing

  @Suite(.needsKeyring, .timeLimit(.minutes(5)))
  struct `kist watch on a keyring` {
    @Test func `reports changes by other programs, even after the keyring restarts`() async throws {
      try await withKeyring { home, bus, keyring in
        let end = try await withDaemon(in: home, ["--storage", "libsecret"]) { daemon in
          try await withWatch(in: home) { watch in
            try await watch.untilBegun(daemon.connect())
            for account in ["first", "second"] {
              let attributes = [
                "xdg:schema", "io.kist.Credential", "service", "tool", "account", account,
              ]
              try await SecretTool(on: bus).store("x".utf8, attributes)
              try await watch.until(account) { lines in
                lines.contains { $0.hasPrefix("saved\ttool\t\(account)\t") }
              }
              try await SecretTool(on: bus).clear("service", "tool", "account", account)
              try await watch.until("\(account), deleted") {
                $0.last == "deleted\ttool\t\(account)\t"
              }
              try await keyring.restart()
              try await watch.until("reset") { $0.last == "reset" }
            }
            #expect(watch.errors.isEmpty)
          }
        }
        #expect(end.status == .exited(0))
      }
    }
  }
#endif
