#if Libsecret
  import Foundation
  import KistKeyrings
  import Subprocess
  import Testing

  @Suite(.needsKeyring, .timeLimit(.minutes(10)))
  struct `Messages of kistd migrate` {
    @Test func `report that the credentials are already in the target storage`() async throws {
      try await withKeyring { home, _, _ in
        let first = try await command("kistd", ["migrate", "--to", "libsecret"], in: home)
        #expect(
          first.output.hasPrefix("\(home.path)/.local/share/kist has no store to move"),
          "\(first.error)")
        for _ in 0..<2 {
          let again = try await command("kistd", ["migrate", "--to", "libsecret"], in: home)
          #expect(again.status == .exited(0))
          #expect(again.output.hasPrefix("credentials are kept in the keyring already"))
        }
        #expect(!FileManager.default.fileExists(atPath: home.store))
      }
    }

    @Test(arguments: ["libsecret", "encrypted-file"])
    func `name a command that deletes the other credentials in the target storage`(
      kind: String
    ) async throws {
      try await withKeyring { home, _, _ in
        let other = kind == "libsecret" ? "encrypted-file" : "libsecret"
        try await save("kept", in: home, ["--storage", other])
        let data =
          kind == "libsecret"
          ? home.path + "/else" : (home.store as NSString).deletingLastPathComponent
        try await save("left", in: home, ["--storage", kind, "--data", data])
        try FileManager.default.removeItem(atPath: data + "/storage")
        let refused = try await command("kistd", ["migrate", "--to", kind], in: home)
        #expect(refused.status == .exited(3), "\(refused.error)")
        let hint = try #require(refused.error.firstMatch(of: /, or in .+ with `(.+)`; then run/))
        try await delete(hint.1, in: home)
        let moved = try await command("kistd", ["migrate", "--to", kind], in: home)
        #expect(moved.output.hasPrefix("moved 1 credential from"), "\(moved.error)")
        try await withDaemon(in: home) { _ in
          let loaded = try await command("kist", ["load", "s"], in: home)
          #expect(loaded.output == "kept")
        }
      }
    }

    @Test func `name a command that deletes the credentials of a restored store`() async throws {
      try await withKeyring { home, _, _ in
        try await save("new", in: home, ["--storage", "libsecret"])
        let restored = home.path + "/restored"
        try await save("old", in: home, ["--storage", "encrypted-file", "--data", restored])
        try FileManager.default.removeItem(atPath: restored + "/storage")
        let migrate = ["migrate", "--data", restored, "--to", "libsecret"]
        let refused = try await command("kistd", migrate, in: home)
        #expect(refused.status == .exited(3), "\(refused.error)")
        let hint = try #require(refused.error.firstMatch(of: /in the encrypted file with `(.+?)`/))
        try await delete(hint.1, in: home)
        let moved = try await command("kistd", migrate, in: home)
        #expect(moved.status == .exited(0), "\(moved.error)")
        try await withDaemon(in: home) { _ in
          let loaded = try await command("kist", ["load", "s"], in: home)
          #expect(loaded.output == "new")
        }
      }
    }

    /// Runs the command of a hint that deletes a credential.
    private func delete(_ hint: Substring, in home: Home) async throws {
      let deletion = hint.replacingOccurrences(of: "SERVICE ACCOUNT", with: "s")
      let deleted = try await command("sh", ["-c", deletion], in: home)
      #expect(deleted.status == .exited(0), "\(deletion): \(deleted.error)")
    }

    private func save(_ secret: String, in home: Home, _ options: [String]) async throws {
      let end = try await command(
        "kistd", options + ["--", "sh", "-c", "printf \(secret) | kist save s"], in: home)
      #expect(end.status == .exited(0), "\(end.error)")
    }

    @Test func `name a missing key file and do not suggest kist unlock`() async throws {
      try await withKeyring { home, _, _ in
        try await save("kept", in: home, ["--storage", "encrypted-file"])
        let key = home.path + "/.local/state/kist/key"
        try FileManager.default.moveItem(atPath: key, toPath: key + ".away")
        let refused = try await command("kistd", ["migrate", "--to", "libsecret"], in: home)
        #expect(refused.status == .exited(5), "\(refused.error)")
        #expect(refused.error.contains("the store's key file \(key) is missing"))
        #expect(refused.error.contains("with --key-file"))
        #expect(!refused.error.contains("passphrase") && !refused.error.contains("kist unlock"))
      }
    }
  }
#endif
