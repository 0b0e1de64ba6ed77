import Foundation
import KistClient
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The Python reader of the file format` {
  @Test func `prints the credentials that kistd saved`() async throws {
    try await withHome { home in
      let saved = try await withSavedCredentials(in: home)
      let lines = try await readStore(home).split(separator: "\n")
      let printed = try lines.map { line in
        try JSONDecoder().decode(PrintedCredential.self, from: Data(line.utf8))
      }
      #expect(Set(printed) == Set(saved))
      #expect(printed.count == saved.count)
    }
  }

  @Test func `prints the sequence number in the progress note of kistd`() async throws {
    try await withHome { home in
      let saved = try await withSavedCredentials(in: home)
      let state = home.path + "/.local/state/kist"
      let name = try #require(
        try FileManager.default.contentsOfDirectory(atPath: state)
          .first { $0.hasPrefix("progress-") })
      let line = try await readStore(home, ["--progress", "\(state)/\(name)"])
      // The saves that remain, the deleted one, and the delete.
      #expect(line.contains("\"sequence\": \(saved.count + 2),"))
    }
  }

  /// Saves varied credentials in a kistd and stops it; returns what the reader should print.
  private func withSavedCredentials(in home: Home) async throws -> [PrintedCredential] {
    var expected: [PrintedCredential] = []
    try await withDaemon(in: home) { daemon in
      let storage = daemon.connect()
      for number in 0..<20 {
        let bytes = [UInt8]((0..<number * 100).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let summary = try await storage.save(
          NewCredential(
            key: CredentialKey(service: "sérvice \(number)", account: number % 2 == 0 ? "" : "ä"),
            secret: Secret(copying: bytes), label: number % 3 == 0 ? "Läbel" : nil,
            attributes: number % 4 == 0 ? ["a": "1", "b": "zwei"] : [:],
            expiresAt: number % 5 == 0 ? Timestamp(secondsSinceEpoch: 4_000_000_000) : nil))
        expected.append(PrintedCredential(summary, secret: bytes))
      }
      try await storage.delete(CredentialKey(service: "sérvice 3", account: "ä"))
    }
    return expected.filter { $0.service != "sérvice 3" }
  }
}

/// One line of the reader's output.
private struct PrintedCredential: Codable, Hashable {
  let service: String
  let account: String
  let label: String?
  let attributes: [String: String]
  let createdAt: String
  let modifiedAt: String
  let expiresAt: String?
  let revision: String
  let secretBase64: String

  init(_ summary: CredentialSummary, secret: [UInt8]) {
    service = summary.key.service
    account = summary.key.account
    label = summary.label
    attributes = Dictionary(uniqueKeysWithValues: summary.attributes.sorted.map { ($0, $1) })
    createdAt = summary.createdAt.description
    modifiedAt = summary.modifiedAt.description
    expiresAt = summary.expiresAt?.description
    revision = summary.revision.rawValue
    secretBase64 = Data(secret).base64EncodedString()
  }
}
