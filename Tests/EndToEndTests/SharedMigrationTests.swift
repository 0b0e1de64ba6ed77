import Foundation
import KistClient
import KistCluster
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(5))) struct `kistd migrate with a shared vault` {
  private func migrate(
    _ words: [String], _ cluster: SharedCluster, in home: Home
  ) async throws -> CommandResult {
    try await command("kistd", ["migrate"] + words + cluster.options, in: home)
  }

  @Test func `names what is missing, and changes nothing`() async throws {
    let cluster = try SharedCluster()
    try await withHome { home in
      let saved = try await command(
        "kistd", ["--", "kist", "save", "s", "a"], in: home, input: "x")
      try #require(saved.status == .exited(0), "\(saved.error)")
      let store = try Data(contentsOf: URL(filePath: home.store))
      // Keyring and encrypted file could both be meant.
      let unclear = try await migrate(["--to", "shared"], cluster, in: home)
      #expect(unclear.status == .exited(64), "\(unclear.error)")
      #expect(unclear.error.contains("--from must be"))
      let notJoined = try await migrate(
        ["--from", "encrypted-file", "--to", "shared"], cluster, in: home)
      #expect(notJoined.status == .exited(7), "\(notJoined.error)")
      #expect(notJoined.error.contains("kistd vault init"))
      #expect(try Data(contentsOf: URL(filePath: home.store)) == store)
    }
    await cluster.stop()
  }

  @Test func `needs --from to leave the vault`() async throws {
    let cluster = try SharedCluster()
    try await withHome { home in
      _ = try await cluster.makeVault(in: home)
      let implied = try await migrate(["--to", "encrypted-file"], cluster, in: home)
      #expect(implied.status == .exited(7), "\(implied.error)")
      #expect(implied.error.contains("--from shared"))
      #expect(!FileManager.default.fileExists(atPath: home.store))
    }
    await cluster.stop()
  }
}
