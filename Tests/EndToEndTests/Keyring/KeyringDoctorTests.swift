#if Libsecret
  import KistKeyrings
  import Subprocess
  import Testing

  @Suite(.needsKeyring, .timeLimit(.minutes(10)))
  struct `kistd probe and kist doctor with a keyring` {
    @Test func `report whether the keyring is open, served or locked`() async throws {
      try await withKeyring { home, _, keyring in
        let open = try await command("kistd", ["probe"], in: home)
        #expect(open.output.contains("\nkeyring: open, with no credentials of kist\n"))
        _ = try await withDaemon(in: home) { daemon in
          let served = try await command("kistd", ["probe"], in: home)
          #expect(served.status == .exited(7))
          let reason =
            "reason: another kistd serves the keyring already, pid \(daemon.processIdentifier)\n"
          #expect(served.output.contains(reason), "\(served.output)")
          #expect(served.output.contains("\nkeyring: open, "))
        }
        try await keyring.restart(.locked)
        let locked = try await command("kistd", ["probe"], in: home)
        #expect(locked.output.contains("\nkeyring: locked\n"), "\(locked.output)")
        _ = try await withDaemon(in: home) { _ in
          let end = try await command("kist", ["doctor"], in: home)
          #expect(end.status == .exited(5), "\(end.output)")
          #expect(
            end.output.contains("\nnote\tkeyring\tit is locked\tunlock it with `kist unlock`\n"))
        }
      }
    }
  }
#endif
