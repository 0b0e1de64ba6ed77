import Foundation
import GRDB
import KistCore
import KistFile
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A salvage of a store` {
  let store = try! TestStore()
  private var newPath: String { store.directory("new/credentials.db") }

  @Test func `copies every field of a credential, under the same key and id`() async throws {
    let opened = try await store.openWithAllThatCanBeSaid()
    let originals = try await opened.credentials.findAll()
    await opened.close()
    let before = try store.bytes()

    let salvage = try salvage()
    #expect(salvage.copied == 2 && salvage.examination.faults.isEmpty)
    #expect(try store.bytes() == before)
    let new = try await openNew()
    #expect(new.id == opened.id)
    let copies = try await new.credentials.findAll()
    #expect(copies.sortedWithoutRevisions == originals.sortedWithoutRevisions)
    #expect(Set(copies.map(\.revision)).isDisjoint(with: originals.map(\.revision)))
    #expect(try await new.credentials.load(.sample).secret == NewCredential.sample().secret)
    #expect(try await new.access.status().count == 2)
    #expect(try await new.access.status().integrity == .ok)
    await new.close()
  }

  @Test func `omits a credential that fails authentication`() async throws {
    try await store.fill(threeCredentials)
    try store.meddle {
      try $0.execute(sql: "UPDATE credential SET secret = zeroblob(104) WHERE sequence = 1")
    }
    let salvage = try salvage()
    #expect(salvage.copied == 2)
    #expect(salvage.examination.faults.contains { $0.key == .sample })
    let new = try await openNew()
    await expect(.notFound) { try await new.credentials.load(.sample) }
    await new.close()
  }

  @Test(arguments: 1...12)
  func `reads past damaged pages`(seed: UInt64) async throws {
    let specimen = try await Specimen(of: Specimen.many)
    let root = try specimen.read {
      try Int.fetchOne($0, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'credential'")
    }
    var generator = Seeded(seed)
    var damaged = specimen
    // Not those of the schema, the header, the slots, or the root, without which nothing is left.
    let spared = try [1, #require(root)] + specimen.rootPages()
    for _ in 0..<Int(seed) / 3 + 1 {
      let page = (1...specimen.database.count / 4096).filter { !spared.contains($0) }
        .randomElement(using: &generator)!
      damaged = damaged.replacing(page, with: Data(repeating: 0xA5, count: 4096))
    }
    try damaged.lay(in: store)
    let salvage = try salvage()
    let lost = Specimen.many.count - salvage.copied
    #expect(lost > 0 && salvage.copied > 0)
    #expect(!salvage.examination.faults.isEmpty && !salvage.examination.isComplete)
    // SQLite tells of several in one text.
    #expect(salvage.examination.faults.allSatisfy { !$0.message.contains("\n") })
    let new = try await openNew()
    for summary in try await new.credentials.findAll() {
      let original = try #require(specimen.content.first { $0.summary.key == summary.key })
      #expect(try await new.credentials.load(summary.key).secret == original.secret)
    }
    await new.close()
  }

  @Test func `loses only the credentials on a damaged page`() async throws {
    let specimen = try await Specimen(of: Specimen.many)
    let roots = try specimen.rootPages()
    let leaves = (2...specimen.database.count / 4096).filter { page in
      specimen.page(page).first == 0x0D && !roots.contains(page)
    }
    try #require(leaves.count > 5)
    for leaf in leaves {
      try specimen.replacing(leaf, with: Data(count: 4096)).lay(in: store)
      let cells = Int(specimen.page(leaf).dropFirst(4).first!)
      #expect(try store.examine().good == Specimen.many.count - cells)
    }
  }

  @Test func `does not replace another store`() async throws {
    try await store.fill(threeCredentials)
    _ = try salvage()
    let before = try Data(contentsOf: URL(filePath: newPath))
    await expect(.conflict) { try salvage() }
    #expect(try Data(contentsOf: URL(filePath: newPath)) == before)
    await expect(.conflict) { try salvage(to: store.path) }
  }

  @Test func `creates nothing where the key is missing, or opens nothing`() async throws {
    try await store.fill(threeCredentials, .passphrase(Secret(utf8: "correct horse")))
    await expect(.locked) { try salvage() }
    try store.meddle { try $0.execute(sql: "DELETE FROM slot") }
    await expect(.corrupt) { try salvage() }
    #expect(!FileManager.default.fileExists(atPath: newPath))
  }

  private func salvage(to path: String? = nil) throws(StorageError) -> EncryptedFile.Salvage {
    try EncryptedFile.salvage(
      path: store.path, keySource: .keyFile(path: store.keyPath),
      to: .init(path: path ?? newPath, keySource: .keyFile(path: store.keyPath)))
  }

  private func openNew() async throws(StorageError) -> OpenStorage {
    try await EncryptedFile.open(
      .init(path: newPath, keySource: .keyFile(path: store.keyPath), now: store.clock.now))
  }
}

extension [CredentialSummary] {
  var sortedWithoutRevisions: [CredentialSummary] {
    map { summary in
      CredentialSummary(
        key: summary.key, label: summary.label, attributes: summary.attributes,
        createdAt: summary.createdAt, modifiedAt: summary.modifiedAt,
        expiresAt: summary.expiresAt, revision: Revision(rawValue: ""))
    }.sorted { $0.key < $1.key }
  }
}

extension Specimen {
  /// Where its tables begin.
  fileprivate func rootPages() throws -> [Int] {
    try read { try Int.fetchAll($0, sql: "SELECT rootpage FROM sqlite_schema") }
  }
}
