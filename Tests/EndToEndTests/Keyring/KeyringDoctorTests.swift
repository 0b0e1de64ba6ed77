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

    @Test func `say nothing of backups of a store whose credentials were moved to the keyring`()
      async throws
    {
      try await withKeyring(mayEnd: true) { home, _, keyring in
        let script = """
          kistd --storage encrypted-file -- sh -c 'printf pw | kist save s' 2> /dev/null
          kist doctor | grep --count ^note.backup
          kistd migrate --to libsecret >&2 && kist doctor | grep --count ^note.backup
          """
        let moved = try await command("sh", ["-c", script], in: home)
        #expect(moved.output == "1\n0\n", "\(moved.error)")
        try await keyring.stop()
        let doctor = try await command("kist", ["doctor"], in: home)
        #expect(doctor.output.contains("no program provides a keyring"), "\(doctor.output)")
        #expect(!doctor.output.contains("\nnote\tbackup\t"))
      }
    }
  }
#endif
