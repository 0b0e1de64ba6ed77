import Foundation
import KistClient
import KistCluster
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(5))) struct `The admin key of a shared vault` {
  @Test func `does nothing at a second init, or with a wrong passphrase`() async throws {
    let cluster = try SharedCluster()
    try await withHome { one in
      try await withHome { two in
        _ = try await cluster.makeVault(in: one)
        let head = try await cluster.engine.cluster.head(1)
        let second = try await cluster.vault(
          ["init", "--name", "two", "--admin-key", two.path + "/admin"], in: two)
        #expect(second.status == .exited(6), "\(second.error)")
        #expect(!FileManager.default.fileExists(atPath: two.path + "/admin"))
        // kistd does not begin another storage instead of the vault that its user expects.
        let probe = try await command("kistd", ["probe"] + cluster.options, in: two)
        #expect(probe.status == .exited(7), "\(probe.output)")
        #expect((probe.output + probe.error).contains("has not joined"), "\(probe.output)")
        let identity = try await cluster.vault(["identity"], in: two).output.dropLast()
        let wrong = try await command(
          "kistd",
          ["vault", "add", String(identity), "--name", "two", "--admin-key", one.path + "/admin"]
            + cluster.options, in: one, input: "of another\n")
        #expect(wrong.status == .exited(11))
        #expect(wrong.error.contains("does not open the admin key"), "\(wrong.error)")
        #expect(try await cluster.engine.cluster.head(1) == head)
      }
    }
    await cluster.stop()
  }

  @Test func `has a passphrase of one line`() async throws {
    let cluster = try SharedCluster()
    try await withHome { one in
      let path = one.path + "/admin"
      let twice = try await command(
        "kistd", ["vault", "init", "--name", "one", "--admin-key", path] + cluster.options, in: one,
        input: "of the admin\nof the admin\n")
      #expect(twice.status == .exited(64), "\(twice.error)")
      #expect(!FileManager.default.fileExists(atPath: path))
      #expect(try await cluster.engine.cluster.head(1).head == nil)
    }
    await cluster.stop()
  }
}
