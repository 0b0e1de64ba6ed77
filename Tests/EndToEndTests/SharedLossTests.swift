import Foundation
import KistClient
import KistCluster
import KistTesting
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A shared vault whose cluster was restored from a snapshot`
{
  private let key = CredentialKey(service: "https://example.org", account: "alice")

  private func save(_ secret: String, in storage: UserStorage) async throws {
    try await storage.save(NewCredential(key: key, secret: Secret(utf8: secret)))
  }

  /// Returns once a storage confirms that this secret is the newest one; fails the test after a minute.
  private func waitUntil(_ storage: UserStorage, has secret: String) async throws {
    for _ in 0..<3000 {
      let loaded = try? await storage.load(LoadRequest(key: key, maxStale: 0))
      if loaded?.secret == Secret(utf8: secret) { return }
      try await Task.sleep(for: .milliseconds(20))
    }
    Issue.record("the secret was not confirmed within a minute")
  }

  @Test(arguments: [false, true])
  func `is put back with kistd vault rotate --from-copy`(losesEverything: Bool) async throws {
    let cluster = try SharedCluster()
    let engine = cluster.engine
    try await withHome { one in
      try await withHome { two in
        try await withHome { three in
          _ = try await cluster.makeVault(in: one)
          for (home, name) in [(two, "two"), (three, "three")] {
            try await cluster.add(home, by: one, named: name)
          }
          let kept = losesEverything ? ClusterPosition(0) : engine.position
          let rotate = ["rotate", "--from-copy", "--admin-key", one.path + "/admin"]
          try await withDaemon(in: two, cluster.options) { second in
            try await withDaemon(in: one, cluster.options) { first in
              for secret in ["first", "second", "third"] {
                try await save(secret, in: first.connect())
              }
              try await waitUntil(second.connect(), has: "third")
              engine.rollBack(to: kept)
              await expect(.corrupt) { try await save("lost", in: first.connect()) }
              let running = try await cluster.vault(rotate, in: one)
              #expect(running.status == .exited(12), "\(running.error)")
            }
            let rotated = try await cluster.vault(rotate, in: one)
            try #require(rotated.status == .exited(0), "\(rotated.error)")
            let lines = rotated.output.split(separator: "\n")
            try #require(lines.count == 4 && lines[0].contains("1 credential"), "\(rotated.output)")
            // Its kistd runs all the time, and goes on by itself.
            try await waitUntil(second.connect(), has: "third")
            try await save("fourth", in: second.connect())
            let line = String(lines[2])
            try await withDaemon(in: one, cluster.options) { first in
              try await waitUntil(first.connect(), has: "fourth")
            }
            // This machine does not know the changes that were lost.
            try await withDaemon(in: three, cluster.options) { third in
              let refused = await expect(.corrupt) { try await save("older", in: third.connect()) }
              #expect(refused?.outcome == .unchanged)
            }
            let join = try await cluster.vault(["join", line], in: three)
            #expect(
              join.status == .exited(7) && join.error.contains("mkdir former"), "\(join.error)")
            let moving = try #require(join.error.split(separator: "`").dropFirst().first)
            let moved = try await command(
              "bash", ["-c", "cd '\(three.path)' && \(moving)"], in: three)
            #expect(moved.status == .exited(0), "\(moved.error)")
            let joined = try await cluster.vault(["join", line], in: three)
            #expect(joined.status == .exited(0), "\(joined.error)")
            try await withDaemon(in: three, cluster.options) { third in
              try await waitUntil(third.connect(), has: "fourth")
            }
          }
        }
      }
    }
    await cluster.stop()
  }

  @Test func `keeps the copy of a killed machine that has changes of its own`() async throws {
    let cluster = try SharedCluster()
    try await withHome { one in
      try await withHome { two in
        _ = try await cluster.makeVault(in: one)
        try await cluster.add(two, by: one, named: "two")
        let kept = cluster.engine.position
        let note = URL(filePath: one.path + "/.local/share/kist/vault.db.vault")
        let old = try Data(contentsOf: note)
        try await withDaemon(in: one, cluster.options) { first in
          for secret in ["first", "second", "third"] {
            try await save(secret, in: first.connect())
          }
          first.send(.kill)
        }
        // kistd may have written one before it was killed.
        try old.write(to: note)
        cluster.engine.rollBack(to: kept)
        let rotated = try await cluster.vault(
          ["rotate", "--from-copy", "--admin-key", one.path + "/admin"], in: two)
        try #require(rotated.status == .exited(0), "\(rotated.error)")
        try await withDaemon(in: one, cluster.options) { first in
          let error = await expect(.corrupt) {
            try await first.connect().load(LoadRequest(key: key, maxStale: 0))
          }
          #expect(error?.hint?.contains("join again") == true)
          #expect(try await first.connect().load(key).secret == Secret(utf8: "third"))
          let backup = try await command(
            "kist", ["backup", one.path + "/backup"], in: one, input: "of the backup\n")
          #expect(backup.status == .exited(0), "\(backup.error)")
        }
      }
    }
    await cluster.stop()
  }
}
