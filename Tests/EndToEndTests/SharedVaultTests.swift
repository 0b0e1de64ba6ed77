import Foundation
import KistClient
import KistCluster
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A shared vault on two machines` {
  private let key = CredentialKey(service: "https://example.org", account: "alice")

  /// Returns once a storage loads this secret; fails the test after a minute.
  private func waitUntil(_ storage: UserStorage, has secret: String) async throws {
    for _ in 0..<3000 {
      if let loaded = try? await storage.load(key), loaded.secret == Secret(utf8: secret) { return }
      try await Task.sleep(for: .milliseconds(20))
    }
    Issue.record("the secret did not arrive within a minute")
  }

  /// Returns once a load fails with this code; fails the test after a minute.
  private func waitUntil(_ storage: UserStorage, answers code: StorageError.Code) async throws {
    for _ in 0..<3000 {
      do throws(StorageError) { _ = try await storage.load(key) } catch {
        if error.code == code { return }
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    Issue.record("the answer was not \(code) within a minute")
  }

  /// Saves a secret as soon as kistd has the new key; fails the test after a minute.
  private func waitUntilSaved(_ secret: String, in storage: UserStorage) async throws {
    for _ in 0..<3000 {
      do throws(StorageError) { return try await save(secret, in: storage) } catch {
        #expect(error.code == .busy && error.outcome == .unchanged, "\(error)")
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    Issue.record("the secret was not saved within a minute")
  }

  private func save(_ secret: String, in storage: UserStorage) async throws(StorageError) {
    try await storage.save(NewCredential(key: key, secret: Secret(utf8: secret)))
  }

  @Test func `a credential and its rotation reach the other machine`() async throws {
    let cluster = try SharedCluster()
    try await withHome { one in
      try await withHome { two in
        _ = try await cluster.makeVault(in: one)
        // A kistd that serves the vault need not be stopped to add a machine.
        try await withDaemon(in: one, cluster.options) { first in
          try await cluster.add(two, by: one, named: "two")
          try await withDaemon(in: two, cluster.options) { second in
            try await save("first", in: first.connect())
            try await waitUntil(second.connect(), has: "first")
            try await save("second", in: second.connect())
            try await waitUntil(first.connect(), has: "second")
          }
        }
        let members = try await cluster.vault(["members"], in: two)
        #expect(members.status == .exited(0), "\(members.error)")
        let lines = members.output.split(separator: "\n").map { $0.split(separator: " ")[1...] }
        #expect(
          Set(lines.map { $0.joined(separator: " ") })
            == ["writer one", "writer two (this machine)"])
      }
    }
    await cluster.stop()
  }

  @Test func `without the cluster, kistd starts, loads, and changes nothing`() async throws {
    let cluster = try SharedCluster()
    try await withHome { home in
      _ = try await cluster.makeVault(in: home)
      try await withDaemon(in: home, cluster.options) { daemon in
        try await save("first", in: daemon.connect())
      }
      await cluster.stop()
      try await withDaemon(in: home, cluster.options) { daemon in
        let storage = daemon.connect()
        let loaded = try await storage.load(LoadRequest(key: key, maxStale: 3600))
        #expect(loaded.secret == Secret(utf8: "first"))
        #expect(loaded.asOf != nil)
        let absent = await #expect(throws: StorageError.self) {
          try await storage.load(CredentialKey(service: "absent", account: "a"))
        }
        #expect(absent?.code == .unavailable)
        let refused = await #expect(throws: StorageError.self) {
          try await save("second", in: storage)
        }
        #expect(refused?.code == .unavailable)
        #expect(refused?.outcome == .unchanged)
        #expect(try await storage.load(key).secret == Secret(utf8: "first"))
        let status = try await StorageAccess.remote(socketPath: home.socket).status()
        #expect(status.storage == "shared")
        #expect(status.problem?.code == .unavailable)
        let vault = try #require(status.vault)
        #expect(vault.members == 1 && vault.generation == 1 && vault.isCopyComplete)
        #expect(vault.head == loaded.summary.revision)
        let fresh = await #expect(throws: StorageError.self) {
          try await storage.load(LoadRequest(key: key, maxStale: 0))
        }
        #expect(fresh?.code == .unavailable)
        let shown = try await command(
          "kist", ["load", key.service, key.account, "--json"], in: home)
        #expect(shown.output.contains(#""asOf":"20"#), "\(shown.output)\(shown.error)")
      }
      // The changes go on when the cluster is back.
      let back = try SharedCluster(
        cluster.engine, in: (cluster.socket as NSString).deletingLastPathComponent)
      try await withDaemon(in: home, back.options) { daemon in
        try await save("third", in: daemon.connect())
      }
      await back.stop()
    }
  }

  @Test func `a removed machine is denied everything, and the others go on with a new key`()
    async throws
  {
    let cluster = try SharedCluster()
    try await withHome { one in
      try await withHome { two in
        _ = try await cluster.makeVault(in: one)
        try await withDaemon(in: one, cluster.options) { first in
          try await save("first", in: first.connect())
          try await cluster.add(two, by: one, named: "two")
          try await withDaemon(in: two, cluster.options) { second in
            try await waitUntil(second.connect(), has: "first")
            let removed = try await cluster.remove("two", by: one)
            #expect(removed.output.hasSuffix("kist://https%3A%2F%2Fexample.org/alice\n"))
            try await waitUntil(second.connect(), answers: .denied)
          }
          try await waitUntilSaved("second", in: first.connect())
          // Added again, the machine joins without its former copy.
          let back = try await cluster.invite(two, by: one, named: "two")
          let refused = try await cluster.vault(["join", back], in: two)
          #expect(refused.status == .exited(7))
          let hint = try #require(refused.error.split(separator: "`").dropLast().last)
          #expect(hint.hasPrefix("mkdir former && mv "), "\(refused.error)")
          #expect(try await command("sh", ["-c", "cd; \(hint)"], in: two).status == .exited(0))
          #expect(try await cluster.vault(["join", back], in: two).status == .exited(0))
          try await withDaemon(in: two, cluster.options) { second in
            try await waitUntil(second.connect(), has: "second")
          }
          _ = try await cluster.remove("two", by: one)
          try await waitUntilSaved("third", in: first.connect())
          let status = try await StorageAccess.remote(socketPath: one.socket).status()
          #expect(status.vault?.generation == 3 && status.vault?.members == 1)
        }
        // The new copy and its note are on the disk.
        await cluster.stop()
        try await withDaemon(in: one, cluster.options) { first in
          let loaded = try await first.connect().load(key)
          #expect(loaded.secret == Secret(utf8: "third"))
        }
      }
    }
  }

  @Test func `a reader loads, and cannot save`() async throws {
    let cluster = try SharedCluster()
    try await withHome { one in
      try await withHome { two in
        _ = try await cluster.makeVault(in: one)
        try await withDaemon(in: one, cluster.options) { try await save("x", in: $0.connect()) }
        try await cluster.add(two, by: one, named: "two", ["--reader"])
        try await withDaemon(in: two, cluster.options) { daemon in
          try await waitUntil(daemon.connect(), has: "x")
          let error = await #expect(throws: StorageError.self) {
            try await save("y", in: daemon.connect())
          }
          #expect(error?.code == .denied)
          #expect(error?.outcome == .unchanged)
        }
      }
    }
    await cluster.stop()
  }

  @Test func `the cluster of another vault, or an older state, changes nothing in the copy`()
    async throws
  {
    let cluster = try SharedCluster()
    let other = try SharedCluster()
    try await withHome { one in
      try await withHome { two in
        _ = try await cluster.makeVault(in: one)
        _ = try await other.makeVault(in: two)
        let earlier = cluster.engine.position
        try await withDaemon(in: one, cluster.options) { try await save("x", in: $0.connect()) }
        cluster.engine.rollBack(to: earlier)
        for wrong in [cluster, other] {
          try await withDaemon(in: one, wrong.options) { daemon in
            let storage = daemon.connect()
            let error = await #expect(throws: StorageError.self) {
              try await save("y", in: storage)
            }
            #expect(error?.code == .corrupt)
            #expect(error?.outcome == .unchanged)
            #expect(try await storage.load(key).secret == Secret(utf8: "x"))
            let status = try await StorageAccess.remote(socketPath: one.socket).status()
            #expect(status.problem?.code == .corrupt)
          }
        }
      }
    }
    await cluster.stop()
    await other.stop()
  }

  @Test func `a machine that was not added, or with a changed line, cannot join`() async throws {
    let cluster = try SharedCluster()
    try await withHome { one in
      try await withHome { two in
        let line = try await cluster.makeVault(in: one)
        _ = try await cluster.vault(["identity"], in: two)
        let stranger = try await cluster.vault(["join", line], in: two)
        #expect(stranger.status == .exited(6), "\(stranger.error)")
        let changed = line.dropLast() + (line.hasSuffix("0") ? "1" : "0")
        let mistyped = try await cluster.vault(["join", String(changed)], in: two)
        #expect(mistyped.status == .exited(64), "\(mistyped.error)")
        let copy = two.path + "/.local/share/kist/vault.db"
        #expect(!FileManager.default.fileExists(atPath: copy))
      }
    }
    await cluster.stop()
  }

  @Test func `without the key file of the machine, kistd does not start`() async throws {
    let cluster = try SharedCluster()
    try await withHome { home in
      _ = try await cluster.makeVault(in: home)
      try FileManager.default.removeItem(atPath: home.path + "/.local/state/kist/machine.key")
      let end = try await command("kistd", cluster.options, in: home)
      #expect(end.status == .exited(7), "\(end.error)")
      #expect(end.error.contains("machine.key, is missing"))
      let probed = try await command("kistd", ["probe"], in: home)
      #expect(probed.status == .exited(7), "\(probed.output)")
    }
    await cluster.stop()
  }

  @Test func `credentials of the encrypted file move into the vault, and back as copies`()
    async throws
  {
    let cluster = try SharedCluster()
    try await withHome { home in
      try await withDaemon(in: home) { try await save("x", in: $0.connect()) }
      let made = try await cluster.vault(
        ["init", "--name", "one", "--admin-key", home.path + "/admin"], in: home)
      #expect(made.output.contains("credentials are kept in the encrypted file"), "\(made.output)")
      func migrate(_ from: String, _ to: String) async throws -> CommandResult {
        try await command(
          "kistd", ["migrate", "--from", from, "--to", to] + cluster.options, in: home)
      }
      let moved = try await migrate("encrypted-file", "shared")
      #expect(moved.status == .exited(0), "\(moved.error)")
      try await withDaemon(in: home, cluster.options) { daemon in
        let loaded = try await daemon.connect().load(key)
        #expect(loaded.secret == Secret(utf8: "x"))
      }
      let back = try await migrate("shared", "encrypted-file")
      #expect(back.status == .exited(0), "\(back.error)")
      #expect(back.output.contains("the shared vault was not changed"), "\(back.output)")
      #expect(try await cluster.engine.cluster.head(1).head != nil)
      try await withDaemon(in: home) { daemon in
        let loaded = try await daemon.connect().load(key)
        #expect(loaded.secret == Secret(utf8: "x"))
      }
    }
    await cluster.stop()
  }
}
