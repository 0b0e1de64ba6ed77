import Foundation
import KistClient
import KistCluster
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `kistd vault seen` {
  private struct Report: Decodable {
    struct Machine: Decodable {
      var name: String
      var state: String
    }

    var complete: Bool
    var machines: [Machine]
  }

  private let key = CredentialKey(service: "s", account: "a")

  /// Runs the command until it prints these states of the machines `one` and `two`; returns the object.
  private func until(
    _ states: [String: String], _ cluster: SharedCluster, _ home: Home
  ) async throws -> Report? {
    for _ in 0..<600 {
      let end = try await cluster.vault(["seen", "s", "a", "--json"], in: home)
      try #require(end.status == .exited(0), "\(end.error)")
      let report = try JSONDecoder().decode(Report.self, from: Data(end.output.utf8))
      let found = Dictionary(uniqueKeysWithValues: report.machines.map { ($0.name, $0.state) })
      if found == states { return report }
      try await Task.sleep(for: .milliseconds(100))
    }
    Issue.record("not within a minute: \(states)")
    return nil
  }

  @Test func `shows when a rotation has reached the other machine`() async throws {
    let cluster = try SharedCluster()
    try await withHome { one in
      try await withHome { two in
        _ = try await cluster.makeVault(in: one)
        try await withDaemon(in: one, cluster.options) { first in
          let save = { (secret: String) in
            _ = try await first.connect().save(
              NewCredential(key: key, secret: Secret(utf8: secret)))
          }
          try await cluster.add(two, by: one, named: "two")
          try await save("old")
          try await withDaemon(in: two, cluster.options) { _ in
            let report = try await until(["one": "newest", "two": "newest"], cluster, one)
            #expect(report?.complete == true)
          }
          try await save("new")
          let report = try await until(["one": "newest", "two": "older"], cluster, one)
          #expect(report?.complete == false)
          let shown = try await cluster.vault(["seen", "s", "a"], in: one)
          #expect(shown.output.hasPrefix("kist://s/a: 1 of 2 machines have the newest value\n"))
          #expect(shown.output.contains(" older two (reported 20"))
          let absent = try await cluster.vault(["seen", "s"], in: one)
          #expect(absent.status == .exited(2), "\(absent.error)")
        }
        let stopped = try await cluster.vault(["seen", "s", "a"], in: one)
        #expect(stopped.status == .exited(7), "\(stopped.error)")
      }
    }
    await cluster.stop()
  }
}
