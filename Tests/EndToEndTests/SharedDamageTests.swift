import Foundation
import KistClient
import KistCluster
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A row that is missing in the cluster` {
  private func keys(_ cluster: Cluster) async throws -> Set<RecordID> {
    var keys: Set<RecordID> = []
    for byte in UInt8.min ... .max {
      guard
        case .page(let page) = try await cluster.list(ListRequest(generation: 1, firstByte: byte))
      else { continue }
      keys.formUnion(page.rows.map(\.key))
    }
    return keys
  }

  @Test func `is named by kistd vault rotate, which succeeds after a save`() async throws {
    let cluster = try SharedCluster()
    let records = cluster.engine.cluster
    try await withHome { home in
      _ = try await cluster.makeVault(in: home)
      let rotate = ["rotate", "--admin-key", home.path + "/admin"]
      try await withDaemon(in: home, cluster.options) { kistd in
        let lost = NewCredential(
          key: CredentialKey(service: "lost", account: "a"), secret: Secret(utf8: "s"))
        let client = kistd.connect()
        _ = try await client.save(lost)
        let key = try #require(try await keys(records).first)
        _ = try await client.save(
          NewCredential(key: CredentialKey(service: "other"), secret: Secret(utf8: "s")))
        _ = try await records.commit(
          Commit(expected: nil, deletes: [.row(generation: 1, key: key)]))
        let refused = try await cluster.vault(rotate, in: home)
        #expect(refused.status == .exited(10), "\(refused.error)")
        let lines = refused.output.split(separator: "\n")
        #expect(lines.count == 4 && lines[1] == "kist://lost/a", "\(refused.output)")
        _ = try await client.save(lost)
        let rotated = try await cluster.vault(rotate, in: home)
        #expect(rotated.status == .exited(0), "\(rotated.error)")
      }
    }
    await cluster.stop()
  }
}
