import Foundation
import KistCore
import KistFile
import KistTesting
import Testing

/// What the golden stores hold, as `content.json` beside them tells it.
struct GoldenContent: Decodable {
  struct Entry: Decodable {
    let service, account, secretHex, revision, createdAt, modifiedAt: String
    let label, expiresAt: String?
    let attributes: [String: String]

    var credential: NewCredential {
      NewCredential(
        key: CredentialKey(service: service, account: account),
        secret: Secret(copying: bytes(secretHex)), label: label, attributes: .init(attributes),
        expiresAt: expiresAt.flatMap(Timestamp.init(rfc3339:)))
    }
  }

  let passphrase: String
  let credentials: [Entry]

  static func read() throws -> GoldenContent {
    try JSONDecoder().decode(GoldenContent.self, from: try golden("content.json"))
  }
}

/// A committed store of a version of the format, which every later version must read.
@Suite(.timeLimit(.minutes(10))) struct `A golden store of version 1` {
  let store = try! TestStore()
  let content = try! GoldenContent.read()

  @Test(arguments: ["v1-key-file.db", "v1-extended.db"])
  func `with a key file returns its credentials`(name: String) async throws {
    try lay(name)
    try layKey(of: store)
    try await expectContent(try await store.open())
  }

  @Test func `with a key slot and fields of a later version keeps them`() async throws {
    try lay("v1-extended.db")
    try layKey(of: store)
    let before = try store.rawRow()
    let slot = try #require(try store.slotBodies()[2])
    let opened = try await store.open()
    #expect(try await opened.keySlots.list().map(\.kind) == [.keyFile, .unknown])
    let last = try #require(
      try await opened.credentials.findAll().max { $0.sequence < $1.sequence })
    try await opened.credentials.save(NewCredential(key: last.key, secret: Secret(utf8: "new")))
    await opened.close()
    let row = try store.rawRow()
    #expect(row.metadata.suffix(laterFields.count) == laterFields[...] && row != before)
    #expect(row.secret.suffix(laterFields.count + 4).starts(with: laterFields))
    #expect(try store.slotBodies()[2] == slot)
  }

  private let laterFields = field(1, "of a later version") + field(0x100, "")

  @Test func `with a passphrase returns its credentials`() async throws {
    try lay("v1-passphrase.db")
    try await expectContent(
      try await store.open(.passphrase(Secret(utf8: content.passphrase))))
  }

  /// Makes the golden stores of the present version in a directory: for a version that is new.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["KIST_WRITE_GOLDEN"] != nil))
  func `can be made again`() async throws {
    let target = try #require(ProcessInfo.processInfo.environment["KIST_WRITE_GOLDEN"])
    for (name, passphrase) in [("v1-key-file", nil), ("v1-passphrase", content.passphrase)] {
      let store = try TestStore()
      // The key stays: the page of the audit log has lines that it opens.
      try layKey(of: store)
      let opened = try await store.open(passphrase.map { .passphrase(Secret(utf8: $0)) })
      for entry in content.credentials {
        for moment in Set([entry.createdAt, entry.modifiedAt]).sorted() {
          let seconds = try #require(Timestamp(rfc3339: moment)).secondsSinceEpoch
          store.clock.advance(bySeconds: seconds - store.clock.now().secondsSinceEpoch)
          try await opened.credentials.save(entry.credential)
        }
      }
      await opened.close()
      try FileManager.default.copyItem(atPath: store.path, toPath: "\(target)/\(name).db")
      if passphrase == nil {
        try store.addFields(toMetadata: laterFields, toSecret: laterFields)
        try store.addSlot(2, Array("of a later version".utf8))
        try FileManager.default.copyItem(
          atPath: store.path, toPath: "\(target)/v1-extended.db")
      }
    }
  }

  private func layKey(of store: TestStore) throws {
    try FileManager.default.createDirectory(
      atPath: store.directory("state"), withIntermediateDirectories: false)
    try golden("v1-key-file.key").write(to: URL(filePath: store.keyPath))
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: store.keyPath)
  }

  private func lay(_ name: String) throws {
    try FileManager.default.createDirectory(
      atPath: store.directory("data"), withIntermediateDirectories: false)
    try golden(name).write(to: URL(filePath: store.path))
  }

  private func expectContent(_ opened: OpenStorage) async throws {
    let found = try await opened.credentials.findAll()
    #expect(found.count == content.credentials.count)
    #expect(try await opened.access.status().integrity == .ok)
    for entry in content.credentials {
      let key = CredentialKey(service: entry.service, account: entry.account)
      let loaded = try await opened.credentials.load(LoadRequest(key: key, allowExpired: true))
      #expect(found.contains(loaded.summary))
      #expect(loaded.secret == Secret(copying: bytes(entry.secretHex)))
      #expect(loaded.summary.label == entry.label)
      #expect(loaded.summary.attributes == Attributes(entry.attributes))
      #expect(loaded.summary.createdAt.description == entry.createdAt)
      #expect(loaded.summary.modifiedAt.description == entry.modifiedAt)
      #expect(loaded.summary.expiresAt?.description == entry.expiresAt)
      // The epoch is of each store, the sequence of both.
      #expect(loaded.summary.revision.rawValue.hasSuffix("." + entry.revision))
    }
    await opened.close()
  }
}

extension CredentialSummary {
  /// The number of the change that wrote it.
  fileprivate var sequence: Int {
    revision.rawValue.split(separator: ".").last.flatMap { Int($0) } ?? 0
  }
}
