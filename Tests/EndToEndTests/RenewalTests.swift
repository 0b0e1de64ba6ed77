import Foundation
import KistClient
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Backups and new keys` {
  @Test func `a backup made while eight clients save can be restored into an empty home`()
    async throws
  {
    try await withHome { home in
      let backup = home.path + "/backup"
      let before = (0..<50).map { CredentialKey(service: "before", account: "\($0)") }
      try await withDaemon(in: home) { daemon in
        let storage = daemon.connect()
        for key in before {
          try await storage.save(NewCredential(key: key, secret: Secret(utf8: "\(key)")))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for client in 0..<8 {
            group.addTask {
              let storage = daemon.connect()
              var number = 0
              while !Task.isCancelled {
                try await storage.save(
                  NewCredential(
                    key: CredentialKey(service: "meanwhile", account: "\(client)"),
                    secret: Secret(utf8: "\(number)")))
                number += 1
              }
            }
          }
          for _ in 0..<3 {
            let end = try await command(
              "kist", ["backup", "--replace", "--json", backup], in: home, input: "of the backup\n")
            #expect(end.status == .exited(0), "\(end.error)")
          }
          group.cancelAll()
        }
      }
      let attributes = try FileManager.default.attributesOfItem(atPath: backup)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
      try await withHome { empty in
        let restored = try await command(
          "kistd", ["restore", backup], in: empty, input: "of the backup\n")
        #expect(restored.status == .exited(0), "\(restored.error)")
        try await withDaemon(in: empty) { daemon in
          let storage = daemon.connect()
          for key in before {
            let loaded = try await storage.load(key)
            #expect(loaded.secret == Secret(utf8: "\(key)"))
          }
          let found = try await storage.findAll()
          #expect((50...58).contains(found.count))
        }
      }
    }
  }

  @Test func `a restore is refused while kistd still serves a store that was moved away`()
    async throws
  {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        try await daemon.connect().save(
          NewCredential(key: CredentialKey(service: "s"), secret: Secret(utf8: "one")))
        let script = """
          cd; echo of the backup | kist backup file >/dev/null
          mkdir former; mv .local/share/kist/credentials.db* former
          echo of the backup | kistd restore file; echo $?; ls .local/share/kist
          """
        let end = try await command("sh", ["-c", script], in: home)
        #expect(end.output == "12\n", "\(end.output)\(end.error)")
        #expect(end.error.contains("stop it: `kill "), "\(end.error)")
      }
    }
  }

  @Test func `an older store is not opened by a kistd that runs without --accept-rollback`()
    async throws
  {
    try await withHome { home in
      let script = """
        cd; store=.local/share/kist/credentials.db; echo of the store > passphrase
        printf one | kistd --passphrase-fd 3 -- kist save first a 3<passphrase
        cp $store older
        printf two | kistd --passphrase-fd 3 -- kist save second a 3<passphrase
        cp older $store
        kistd & pid=$!
        for try in $(seq 2000); do kist status >/dev/null 2>&1 && break; done
        kistd --accept-rollback -- kist unlock; echo $?
        kill $pid; wait $pid
        kistd --passphrase-fd 3 --accept-rollback -- kist list 3<passphrase; echo $?
        """
      let end = try await command("sh", ["-c", script], in: home)
      let lines = end.output.split(separator: "\n").filter { !$0.hasPrefix("saved") }
      #expect(lines.count == 3 && lines[0] == "5" && lines[2] == "0", "\(end)")
      #expect(end.error.contains("was started without --accept-rollback"), "\(end)")
      #expect(end.error.contains("stop it: `kill "), "\(end)")
    }
  }

  @Test func `the Python reader opens a backup with its passphrase and with no other`() async throws
  {
    try await withHome { home in
      try await withDaemon(in: home) { _ in
        _ = try await command("kist", ["save", "s", "a"], in: home, input: "hunter2")
        let end = try await command(
          "kist", ["backup", home.path + "/copy"], in: home, input: "of the copy")
        #expect(end.status == .exited(0), "\(end.error)")
      }
      let copy = home.path + "/copy"
      let printed = try await readBackup(copy, passphrase: "of the copy", in: home)
      #expect(printed.output.contains(#""secretBase64": "aHVudGVyMg==""#), "\(printed.error)")
      let refused = try await readBackup(copy, passphrase: "another", in: home)
      #expect(refused.status != .exited(0))
    }
  }

  @Test func `after rekey, the store opens with the new keys and an old copy with the old ones`()
    async throws
  {
    try await withHome { home in
      try await withDaemon(in: home) { _ in
        _ = try await command("kist", ["save", "s", "a"], in: home, input: "hunter2")
        let set = try await command(
          "kist", ["passphrase", "set"], in: home, input: "the old one\n")
        #expect(set.status == .exited(0), "\(set.error)")
        let busy = try await command("kistd", ["rekey"], in: home)
        #expect(busy.status == .exited(12) && busy.error.contains("`kill "), "\(busy.error)")
      }
      let copy = home.path + "/copy"
      try FileManager.default.createDirectory(
        atPath: copy, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      try FileManager.default.copyItem(atPath: home.store, toPath: copy + "/credentials.db")
      let refused = try await command("kistd", ["rekey"], in: home)
      #expect(refused.status == .exited(64) && refused.error.contains("--drop-others"))
      let end = try await command(
        "bash",
        [
          "-c",
          "kistd rekey --passphrase-fd 3 --new-passphrase-fd 4 3<<<'the old one' 4<<<'the new one'; "
            + "mv \(home.keyFile).before-* \(home.path)/old-key",
        ], in: home)
      #expect(end.status == .exited(0), "\(end.error)")

      func opens(_ data: String, with words: String) async throws -> Bool {
        let script = "kistd --storage encrypted-file \(data) \(words) -- kist load s a --no-prompt"
        let end = try await command("bash", ["-c", script], in: home)
        if end.status == .exited(0) { #expect(end.output == "hunter2") }
        return end.status == .exited(0)
      }
      let ways = [
        "", "--passphrase-fd 3 3<<<'the new one'", "--key-file ~/old-key",
        "--passphrase-fd 3 3<<<'the old one'",
      ]
      for (number, way) in ways.enumerated() {
        let (store, copied) = try await (opens("", with: way), opens("--data \(copy)", with: way))
        #expect(store == (number < 2) && copied == (number >= 2), "\(way)")
      }
    }
  }

  @Test func `no file contains a passphrase used for rekey or backup`() async throws {
    try await withHome { home in
      let mark = "a passphrase that is easily found"
      try await withDaemon(in: home) { _ in
        _ = try await command("kist", ["save", "s", "a"], in: home, input: mark)
        _ = try await command("kist", ["backup", home.path + "/backup"], in: home, input: mark)
      }
      let end = try await command(
        "bash", ["-c", "kistd rekey --new-passphrase-fd 3 3<<<'\(mark)'"], in: home)
      #expect(end.status == .exited(0), "\(end.error)")
      #expect(!(end.output + end.error).contains(mark))
      var looked = 0
      for name in try FileManager.default.subpathsOfDirectory(atPath: home.path) {
        guard let bytes = FileManager.default.contents(atPath: home.path + "/" + name) else {
          continue
        }
        #expect(bytes.range(of: Data(mark.utf8)) == nil, "\(name)")
        looked += 1
      }
      #expect(looked > 4)
    }
  }

  private func readBackup(
    _ path: String, passphrase: String, in home: Home
  ) async throws -> CommandResult {
    let reader = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Reader/kist_reader.py").path
    return try await command(
      "bash", ["-c", "printf '%s' '\(passphrase)' | python3 \(reader) \(path) --passphrase-fd 0"],
      in: home)
  }
}
