import Foundation
import KistClient
import KistCluster
import KistTesting
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The copy of a shared vault on a machine` {
  private let key = CredentialKey(service: "s", account: "a")

  private func save(_ secret: String, in storage: UserStorage) async throws {
    _ = try await storage.save(NewCredential(key: key, secret: Secret(utf8: secret)))
  }

  private func copy(_ home: Home) -> String { home.path + "/.local/share/kist/vault.db" }

  /// Makes a vault with one credential, in a home whose kistd does not run.
  private func fill(_ home: Home, _ cluster: SharedCluster) async throws {
    _ = try await cluster.makeVault(in: home)
    try await withDaemon(in: home, cluster.options) { try await save("x", in: $0.connect()) }
  }

  @Test func `has all of many credentials when a machine joins, and after a new key`()
    async throws
  {
    let cluster = try SharedCluster()
    try await withHome { one in
      try await withHome { two in
        _ = try await cluster.makeVault(in: one)
        // So many that some of the 256 lists of a copy have several rows.
        let keys = Set((0..<100).map { CredentialKey(service: "s", account: "\($0)") })
        try await withDaemon(in: one, cluster.options) { daemon in
          let storage = daemon.connect()
          for key in keys {
            _ = try await storage.save(NewCredential(key: key, secret: Secret(utf8: "x")))
          }
        }
        let line = try await cluster.invite(two, by: one, named: "two")
        let joined = try await cluster.vault(["join", line], in: two)
        #expect(joined.output.contains(": 100 credentials"), "\(joined.output)\(joined.error)")
        let rotated = try await cluster.vault(
          ["rotate", "--admin-key", one.path + "/admin"], in: one)
        #expect(rotated.status == .exited(0), "\(rotated.error)")
        try await withDaemon(in: two, cluster.options) { daemon in
          for _ in 0..<3000 {
            let status = try? await StorageAccess.remote(socketPath: two.socket).status()
            if status?.vault?.generation == 2 { break }
            try await Task.sleep(for: .milliseconds(20))
          }
          let found = try await daemon.connect().findAll().map(\.key)
          #expect(Set(found) == keys && found.count == keys.count)
        }
      }
    }
    await cluster.stop()
  }

  @Test func `is not made while a kistd runs with another storage`() async throws {
    let cluster = try SharedCluster()
    try await withHome { one in
      try await withHome { two in
        _ = try await cluster.makeVault(in: one)
        let line = try await cluster.invite(two, by: one, named: "two")
        try await withDaemon(in: two) { _ in
          let refused = try await cluster.vault(["join", line], in: two)
          #expect(refused.status == .exited(12), "\(refused.output)\(refused.error)")
          #expect(refused.error.contains("hint: stop it: `kill "), "\(refused.error)")
          #expect(!FileManager.default.fileExists(atPath: copy(two)))
        }
        let joined = try await cluster.vault(["join", line], in: two)
        #expect(joined.status == .exited(0), "\(joined.error)")
      }
    }
    await cluster.stop()
  }

  @Test func `is checked by fsck, without the cluster`() async throws {
    let cluster = try SharedCluster()
    try await withHome { home in
      try await fill(home, cluster)
      await cluster.stop()
      let whole = try await command("kistd", ["fsck"], in: home)
      #expect(whole.status == .exited(0), "\(whole.output)\(whole.error)")
      #expect(whole.output == "\(copy(home)) is intact: 1 credential\n")
      let salvage = try await command("kistd", ["fsck", "--salvage", "new"], in: home)
      #expect(salvage.status == .exited(64), "\(salvage.error)")
      let note = copy(home) + ".vault"
      try FileManager.default.moveItem(atPath: note, toPath: note + ".moved")
      let withoutNote = try await command("kistd", ["fsck"], in: home)
      #expect(withoutNote.status == .exited(10))
      #expect(
        withoutNote.output.contains("- files: the note beside the copy of the vault is missing"))
      try FileManager.default.moveItem(atPath: note + ".moved", toPath: note)
      // The last page of the file has the row.
      let file = try FileHandle(forUpdating: URL(filePath: copy(home)))
      let end = try file.seekToEnd()
      try file.seek(toOffset: end - 64)
      try file.write(contentsOf: Data(repeating: 0x55, count: 64))
      try file.close()
      let damaged = try await command("kistd", ["fsck"], in: home)
      #expect(damaged.status == .exited(10), "\(damaged.output)")
      #expect(damaged.output.contains("kistd vault join LINE"), "\(damaged.output)")
    }
  }

  @Test func `is backed up while the cluster is away, and restored into an encrypted file`()
    async throws
  {
    let cluster = try SharedCluster()
    try await withHome { home in
      try await fill(home, cluster)
      await cluster.stop()
      let (file, other) = (home.path + "/backup", home.path + "/other")
      try await withDaemon(in: home, cluster.options) { _ in
        let made = try await command(
          "kist", ["backup", file], in: home, input: "of the backup\n")
        #expect(made.status == .exited(0), "\(made.error)")
      }
      let restored = try await command(
        "kistd", ["restore", file, "--data", other], in: home, input: "of the backup\n")
      #expect(restored.status == .exited(0), "\(restored.error)")
      let loaded = try await command(
        "kistd", ["--data", other, "--", "kist", "load", "s", "a"], in: home)
      #expect(loaded.output.hasPrefix("x"), "\(loaded.error)")
    }
  }

  @Test(arguments: [true, false])
  func `opens after kistd was killed between a new copy and its note`(
    isReplaced: Bool
  ) async throws {
    let cluster = try SharedCluster()
    try await withHome { home in
      try await fill(home, cluster)
      let (files, path) = (FileManager.default, copy(home))
      let pin = home.path + "/.local/state/kist/storage"
      let old = (
        copy: try Data(contentsOf: URL(filePath: path)),
        note: try Data(contentsOf: URL(filePath: path + ".vault")),
        pin: try String(contentsOfFile: pin, encoding: .utf8)
      )
      let rotated = try await cluster.vault(
        ["rotate", "--admin-key", home.path + "/admin"], in: home)
      #expect(rotated.status == .exited(0), "\(rotated.error)")
      try await withDaemon(in: home, cluster.options) { try await save("y", in: $0.connect()) }
      await cluster.stop()
      // Both notes and both ids of the pin exist while the copy is replaced.
      let id = try #require(
        try String(contentsOfFile: pin, encoding: .utf8).split(separator: " ").last?.dropLast())
      try files.moveItem(atPath: path + ".vault", toPath: path + ".vault-" + id)
      try old.note.write(to: URL(filePath: path + ".vault"))
      try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path + ".vault")
      try Data((old.pin.dropLast() + " " + id + "\n").utf8).write(to: URL(filePath: pin))
      try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: pin)
      if !isReplaced {
        try old.copy.write(to: URL(filePath: path))
        try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      }
      try await withDaemon(in: home, cluster.options) { daemon in
        let secret = try await daemon.connect().load(key).secret
        #expect(secret == Secret(utf8: isReplaced ? "y" : "x"))
      }
      let back = try SharedCluster(
        cluster.engine, in: (cluster.socket as NSString).deletingLastPathComponent)
      try await withDaemon(in: home, back.options) { daemon in
        let load = LoadRequest(key: key, maxStale: 0)
        for _ in 0..<1000 {
          if let loaded = try? await daemon.connect().load(load) {
            #expect(loaded.secret == Secret(utf8: "y"))
            return
          }
          try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("the copy did not get the last change")
      }
      await back.stop()
    }
  }

  @Test(.needsRoot("to mount a small file system"))
  func `stays readable on a full disk, with few lines in the log, and is made again later`()
    async throws
  {
    let cluster = try SharedCluster()
    try await withHome { home in
      let data = home.path + "/.local/share/kist"
      let mount = try await command("mkdir", ["-p", data], in: home)
      #expect(mount.status == .exited(0))
      let mounted = try await command(
        "mount", ["-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", data], in: home)
      try #require(mounted.status == .exited(0), "\(mounted.error)")
      try await fill(home, cluster)
      let rotated = try await cluster.vault(
        ["rotate", "--admin-key", home.path + "/admin"], in: home)
      #expect(rotated.status == .exited(0), "\(rotated.error)")
      let filler = data + "/filler"
      _ = try await command("dd", ["if=/dev/zero", "of=" + filler, "bs=4096"], in: home)
      let end = try await withDaemon(in: home, cluster.options) { daemon in
        let storage = daemon.connect()
        #expect(try await storage.load(key).secret == Secret(utf8: "x"))
        // Several confirmations find the new key.
        try await Task.sleep(for: .seconds(8))
        #expect(try await storage.load(key).secret == Secret(utf8: "x"))
        try FileManager.default.removeItem(atPath: filler)
        for _ in 0..<3000 {
          let status = try? await StorageAccess.remote(socketPath: home.socket).status()
          if status?.vault?.generation == 2 { return }
          try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("the copy was not made again")
      }
      let lines = end.log.split(separator: "\n").count { $0.contains("cannot make a copy") }
      #expect((1...3).contains(lines), "\(end.log)")
      _ = try await command("umount", [data], in: home)
    }
    await cluster.stop()
  }
}
