import Foundation
import KistClient
import KistCluster
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The recovery key of a shared vault` {
  @Test func `opens the vault on a new machine when the admin key and all machines are lost`()
    async throws
  {
    let cluster = try SharedCluster()
    let key = CredentialKey(service: "s", account: "a")
    let paper: [String] = try await withHome { lost in
      _ = try await cluster.makeVault(in: lost)
      try await withDaemon(in: lost, cluster.options) { daemon in
        _ = try await daemon.connect().save(NewCredential(key: key, secret: Secret(utf8: "x")))
      }
      let made = try await cluster.vault(
        ["recovery", "--name", "paper", "--admin-key", lost.path + "/admin"], in: lost)
      try #require(made.status == .exited(0), "\(made.error)")
      #expect(made.error.contains("on paper"))
      return made.output.split(separator: "\n").map(String.init)
    }
    try #require(paper.count == 2)
    func recover(_ home: Home, _ words: [String], typed: String) async throws -> CommandResult {
      try await command(
        "kistd", ["vault"] + words + ["--recovery"] + cluster.options, in: home, input: typed)
    }
    try await withHome { new in
      let head = try await cluster.engine.cluster.head(1)
      let words = ["join", paper[0], "--name", "new"]
      let mistyped = try await recover(new, words, typed: paper[1].replacing("A", with: "B") + "A")
      #expect(mistyped.status == .exited(64), "\(mistyped.error)")
      #expect(!mistyped.error.contains(paper[1].prefix(4)))
      #expect(try await cluster.engine.cluster.head(1) == head)
      let joined = try await recover(new, words, typed: paper[1].lowercased() + "\n")
      try #require(joined.status == .exited(0), "\(joined.error)")
      try await withDaemon(in: new, cluster.options) { daemon in
        let loaded = try await daemon.connect().load(key)
        #expect(loaded.secret == Secret(utf8: "x"))
      }
      // A copy may be of an earlier membership, so nothing is added then.
      let repeated = try await recover(new, words, typed: paper[1])
      #expect(repeated.status == .exited(6) && repeated.error.contains("nothing was changed"))
      // The same key acts as the admin key.
      let rotated = try await recover(new, ["rotate"], typed: paper[1])
      #expect(rotated.status == .exited(0), "\(rotated.error)")
      let again = try await recover(new, ["recovery", "--name", "paper 2"], typed: paper[1])
      // The copy on this machine has the old key until kistd runs.
      #expect(again.status != .exited(0))
      try await withDaemon(in: new, cluster.options) { daemon in
        let loaded = try await daemon.connect().load(key)
        #expect(loaded.secret == Secret(utf8: "x"))
      }
      let second = try await recover(new, ["recovery", "--name", "paper 2"], typed: paper[1])
      #expect(second.status == .exited(0), "\(second.error)")
      let members = try await cluster.vault(["members"], in: new)
      #expect(members.output.contains("writer paper (recovery key)\n"))
    }
    await cluster.stop()
  }

  @Test func `makes a new admin key when the former one is lost`() async throws {
    let cluster = try SharedCluster()
    try await withHome { home in
      _ = try await cluster.makeVault(in: home)
      let made = try await cluster.vault(
        ["recovery", "--name", "paper", "--admin-key", home.path + "/admin"], in: home)
      try #require(made.status == .exited(0), "\(made.error)")
      let paper = try #require(made.output.split(separator: "\n").last)
      let (new, options) = (home.path + "/new", cluster.options.joined(separator: " "))
      func replace(_ passphrase: String) async throws -> CommandResult {
        try await command(
          "bash",
          [
            "-c",
            "kistd vault new-admin '\(new)' --recovery --new-passphrase-fd 3 \(options) 3<<<'\(passphrase)'",
          ], in: home, input: String(paper))
      }
      let head = try await cluster.engine.cluster.head(1)
      let refused = try await replace("short")
      #expect(refused.status == .exited(64), "\(refused.error)")
      #expect(!FileManager.default.fileExists(atPath: new))
      #expect(try await cluster.engine.cluster.head(1) == head)
      let replaced = try await replace("of the admin")
      try #require(replaced.status == .exited(0), "\(replaced.error)")
      #expect(replaced.output.contains(new))
      // It never replaces the file, but completes an attempt that failed.
      let key = try Data(contentsOf: URL(filePath: new))
      for (passphrase, status) in [("of the admin", 0), ("of another", 11)] as [(String, Int32)] {
        let again = try await replace(passphrase)
        #expect(again.status == .exited(status), "\(again.error)")
        #expect(try Data(contentsOf: URL(filePath: new)) == key)
      }
      #expect(replaced.output.contains("writer paper (recovery key)\n"))
      for (file, status) in [("/admin", 6), ("/new", 0)] as [(String, Int32)] {
        let end = try await cluster.vault(["rotate", "--admin-key", home.path + file], in: home)
        #expect(end.status == .exited(status), "\(end.error)")
      }
    }
    await cluster.stop()
  }
}
