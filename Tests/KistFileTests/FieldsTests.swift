import Foundation
import KistCore
import KistFile
import KistTesting
import Testing

private let ofMetadata = field(7, "a colour") + field(9, "") + field(0x7fff_ffff, "the last")
private let ofSecret = field(1, "a content type")
private let critical = field(0x8000_0001, "an earlier secret")

@Suite(.timeLimit(.minutes(10))) struct `Fields of a later version` {
  let store = try! TestStore()

  @Test(arguments: [[], ofMetadata, critical], [[], ofSecret, ofSecret + critical])
  func `do not change the credential for a load, a search and fsck`(
    metadata: [UInt8], secret: [UInt8]
  ) async throws {
    try await store.fill([.sample(label: "a label")])
    try store.addFields(toMetadata: metadata, toSecret: secret)
    let opened = try await store.open()
    let loaded = try await opened.credentials.load(.sample)
    #expect(loaded.secret == NewCredential.sample().secret && loaded.summary.label == "a label")
    #expect(try await opened.credentials.findAll() == [loaded.summary])
    #expect(try await opened.access.status().integrity == .ok)
    await opened.close()
    let found = try store.examine()
    #expect(found.faults.isEmpty && found.isComplete)
    #expect(found.extended == (metadata.isEmpty && secret.isEmpty ? 0 : 1))
  }

  @Test(arguments: [[], ofMetadata], [[], ofSecret])
  func `are kept byte for byte when the credential is saved`(
    metadata: [UInt8], secret: [UInt8]
  ) async throws {
    try await store.fill([.sample()])
    try store.addFields(toMetadata: metadata, toSecret: secret)
    let before = try store.rawRow().metadata
    store.clock.advance(bySeconds: 60)
    let opened = try await store.open()
    for label in ["a label", "another one"] {
      try await opened.credentials.save(.sample(secret: "new", label: label))
    }
    let summary = try await opened.credentials.load(.sample).summary
    #expect(summary.label == "another one" && summary.createdAt < summary.modifiedAt)
    await opened.close()
    let row = try store.rawRow()
    #expect(row.metadata[0] == before[0] | 1)
    #expect(row.metadata.suffix(metadata.count) == metadata[...])
    let size = secret.isEmpty ? [] : littleEndian(UInt32(secret.count))
    #expect(row.secret == Array("new".utf8) + secret + size)
    #expect(try store.examine().faults.isEmpty)
  }

  @Test func `are deleted with their credential`() async throws {
    try await store.fill([.sample()])
    let plain = try store.rawRow()
    try store.addFields(toMetadata: ofMetadata + critical, toSecret: ofSecret + critical)
    let opened = try await store.open()
    #expect(try await opened.credentials.delete(.sample))
    try await opened.credentials.save(.sample())
    await opened.close()
    #expect(try store.rawRow() == plain)
  }

  @Test(arguments: [(critical, []), ([], critical), (ofMetadata + critical, ofSecret)])
  func `that are critical refuse a save, and change nothing`(
    metadata: [UInt8], secret: [UInt8]
  ) async throws {
    try await store.fill([.sample()])
    try store.addFields(toMetadata: metadata, toSecret: secret)
    let opened = try await store.open()
    let before = try await opened.credentials.load(.sample)
    let error = await expect(.denied) {
      try await opened.credentials.save(.sample(secret: "new"))
    }
    #expect(error?.outcome == .unchanged && error?.hint?.hasPrefix("update kistd") == true)
    await expect(.conflict) { try await opened.credentials.save(.sample(), if: .ifAbsent) }
    #expect(try await opened.credentials.load(.sample) == before)
    try await opened.credentials.save(.sample(.init(service: "another")))
    await opened.close()
    #expect(try store.examine().isComplete)
  }

  @Test func `are copied into a backup, a salvage and a store with a new key`() async throws {
    let passphrase = Secret(utf8: "of the backup")
    try await store.fill([.sample()])
    try store.addFields(toMetadata: ofMetadata, toSecret: ofSecret + critical)
    let row = try store.rawRow()

    let opened = try await store.open()
    try await opened.backups.fetch(under: passphrase, to: store.directory("backup"))
    await opened.close()
    let restored = try TestStore()
    _ = try EncryptedFile.restore(
      .init(path: store.directory("backup"), passphrase: { passphrase }),
      to: .init(path: restored.path, keySource: .keyFile(path: restored.keyPath)))
    #expect(try restored.rawRow() == row)

    let salvaged = try TestStore()
    let salvage = try EncryptedFile.salvage(
      path: store.path, keySource: .keyFile(path: store.keyPath),
      to: .init(path: salvaged.path, keySource: .keyFile(path: store.keyPath)))
    #expect(salvage.copied == 1 && salvage.examination.extended == 1)
    #expect(try salvaged.rawRow(openedBy: store.keyPath) == row)

    _ = try EncryptedFile.rekey(
      .init(
        .init(path: store.path, keySource: .keyFile(path: store.keyPath)), keyFile: store.keyPath))
    #expect(try store.rawRow() == row)
  }

  @Test(arguments: [
    [], field(0, "the tag 0"), field(2, "") + field(2, ""), field(2, "") + field(1, ""),
    Array(field(2, "cut").dropLast()), Array(field(2, "").dropLast()), field(2, "long") + [0],
    field(2, String(repeating: "x", count: 32_761)),
  ])
  func `that break the format are corrupt, and nothing is written over them`(
    fields: [UInt8]
  ) async throws {
    try await store.fill([.sample()])
    let whole = try store.bytes()
    for isOfSecret in [false, true] {
      try store.changeRawRow { row in
        row.metadata[0] |= isOfSecret ? 8 : 4
        if isOfSecret {
          row.secret += fields + littleEndian(UInt32(fields.count))
        } else {
          row.metadata += fields
        }
      }
      try await expectCorrupt()
      try whole.write(to: .init(filePath: store.path))
    }
  }

  @Test func `of the greatest size are kept, and one byte that is in no field is corrupt`()
    async throws
  {
    try await store.fill([.sample()])
    let greatest = field(2, String(repeating: "x", count: 32_760))
    try store.addFields(toMetadata: greatest, toSecret: greatest)
    let opened = try await store.open()
    try await opened.credentials.save(.sample(secret: "new"))
    await opened.close()
    #expect(try store.rawRow().secret.count == 3 + 32_768 + 4)
    try store.changeRawRow { $0.metadata[0] &= ~4 }
    let again = try await store.open()
    await expect(.corrupt) { try await again.credentials.load(.sample) }
    await again.close()
  }

  @Test(arguments: [UInt32.max, 23, 14])
  func `of a size beyond the secret are corrupt`(size: UInt32) async throws {
    try await store.fill([.sample()])
    try store.changeRawRow { row in
      row.metadata[0] |= 8
      row.secret += littleEndian(size)
    }
    try await expectCorrupt()
  }

  @Test func `behind an unknown flag are corrupt`() async throws {
    try await store.fill([.sample()])
    try store.changeRawRow { $0.metadata[0] |= 16 }
    try await expectCorrupt()
  }

  /// A load, a save and a delete of the only credential are refused.
  private func expectCorrupt(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let opened = try await store.open()
    for request in [
      { try await opened.credentials.load(.sample) as Any },
      { try await opened.credentials.save(.sample()) as Any },
      { try await opened.credentials.delete(.sample) as Any },
    ] {
      try await store.expectRefusedUntouched(
        .corrupt, from: request, sourceLocation: sourceLocation)
    }
    await opened.close()
    #expect(try store.examine().faults.count > 0, sourceLocation: sourceLocation)
  }
}
