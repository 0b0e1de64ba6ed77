import Foundation
import KistCore
import KistSodium
import KistTesting
import Testing

@testable import KistFile
@testable import KistVault

private let first = CredentialKey(service: "example.com", account: "alice")
private let second = CredentialKey(service: "example.org", account: "bob")

/// A row to put into a store under the key of the store.
private struct CraftedRow: Sendable {
  /// The credential in the row.
  var key: CredentialKey
  /// The credential under whose tags the row is stored; by default its own.
  var tagsOf: CredentialKey?
  var secret: String
  var sequence: UInt64
  /// How many addresses it is after the first possible one.
  var offset: Int64 = 0
}

/// Rows that no save leaves, though each of them is authentic.
private enum Crafted: String, CaseIterable, CustomTestStringConvertible, Sendable {
  case underAnotherName, storedTwice, storedTwiceAtOnce, sameSequence

  var testDescription: String { rawValue }

  var rows: [CraftedRow] {
    let whole = CraftedRow(key: first, secret: "one", sequence: 1)
    switch self {
    case .underAnotherName:
      return [whole, CraftedRow(key: first, tagsOf: second, secret: "two", sequence: 2)]
    case .storedTwice:
      return [whole, CraftedRow(key: first, secret: "two", sequence: 2, offset: 1)]
    case .storedTwiceAtOnce:
      return [whole, CraftedRow(key: first, secret: "two", sequence: 1, offset: 1)]
    case .sameSequence: return [whole, CraftedRow(key: second, secret: "two", sequence: 1)]
    }
  }

  var faults: [String] {
    let sameNumber = "another credential has the same change number"
    return switch self {
    case .underAnotherName: ["it is stored under the name of another credential"]
    case .storedTwice: ["it is stored twice"]
    case .storedTwiceAtOnce: [sameNumber, "it is stored twice"]
    case .sameSequence: [sameNumber]
    }
  }

  /// The secret of the first credential in a salvaged store: the newest, or else the first.
  var salvagedSecret: String { self == .storedTwice ? "two" : "one" }

  /// The number of rows with the name of a copied credential that a salvage leaves out.
  var leftOut: Int { [.storedTwice, .storedTwiceAtOnce].contains(self) ? 1 : 0 }

  /// The number of credentials that a salvage copies.
  var salvaged: Int { self == .sameSequence ? 2 : 1 }
}

/// The maker of a store or a backup has its key, and can seal anything in it.
@Suite(.timeLimit(.minutes(10))) struct `A store with rows that no save leaves` {
  let store = try! TestStore()
  private var key: EncryptedFile.KeySource { .keyFile(path: store.keyPath) }

  @Test(arguments: Crafted.allCases)
  private func `is corrupt for requests that concern these rows, and is not changed`(
    crafted: Crafted
  )
    async throws
  {
    try make(crafted, openedBy: key)
    let opened = try await store.open()
    // The check that precedes this answer decrypts no metadata.
    if crafted != .underAnotherName {
      await expect(.corrupt) { try await opened.credentials.load(CredentialKey(service: "absent")) }
    }
    for request in [
      { try await opened.credentials.findAll() as Any },
      { try await opened.credentials.save(.sample(second)) as Any },
      { try await opened.credentials.delete(second) as Any },
    ] {
      try await store.expectRefusedUntouched(.corrupt, from: request)
    }
    await opened.close()
  }

  @Test func `never answers a load with the secret of another credential`() async throws {
    try make(.underAnotherName, openedBy: key)
    let opened = try await store.open()
    await expect(.corrupt) { try await opened.credentials.load(second) }
    #expect(try await opened.credentials.load(first).secret == Secret(utf8: "one"))
    await opened.close()
  }

  @Test(arguments: Crafted.allCases)
  private func `is not restored, and receives no new key`(crafted: Crafted) async throws {
    let passphrase = Secret(utf8: "of the backup")
    try make(crafted, openedBy: .passphrase(passphrase))
    let new = try TestStore()
    let backup = EncryptedFile.BackupFile(path: store.path, passphrase: { passphrase })
    await expect(.corrupt) { try EncryptedFile.verify(backup) }
    await expect(.corrupt) {
      try EncryptedFile.restore(
        backup, to: .init(path: new.path, keySource: .keyFile(path: new.keyPath)))
    }
    #expect(!FileManager.default.fileExists(atPath: new.path))
    await expect(.corrupt) {
      try EncryptedFile.rekey(.init(.init(path: store.path, keySource: .passphrase(passphrase))))
    }
  }

  @Test(arguments: Crafted.allCases)
  private func `is reported by fsck, and salvaged without its invalid rows`(crafted: Crafted)
    async throws
  {
    try make(crafted, openedBy: key)
    let path = store.directory("new/credentials.db")
    let salvage = try EncryptedFile.salvage(
      path: store.path, keySource: key, to: .init(path: path, keySource: key))
    let faults = salvage.examination.faults
    #expect(faults.map(\.message) == crafted.faults, "\(faults)")
    #expect(faults.allSatisfy { $0.part == .credential && $0.key != nil })
    #expect(salvage.copied == crafted.salvaged && salvage.leftOut == crafted.leftOut)
    let salvaged = try await EncryptedFile.open(.init(path: path, keySource: key))
    #expect(try await salvaged.credentials.findAll().count == crafted.salvaged)
    let secret = try await salvaged.credentials.load(first).secret
    #expect(secret == Secret(utf8: crafted.salvagedSecret))
    await salvaged.close()
  }

  /// A change of the sealed metadata of a row with the attributes `a` and `b`, and no label or expiry.
  private enum Malformed: String, CaseIterable, CustomTestStringConvertible {
    case unsorted, repeated, labelWithoutFlag, expiryWithoutFlag

    var testDescription: String { rawValue }

    func change(_ bytes: inout [UInt8]) throws {
      let name = { (name: String) in littleEndian(UInt32(1)) + Array(name.utf8) }
      switch self {
      case .unsorted: bytes.replace(name("a"), with: name("c"))
      case .repeated: bytes.replace(name("b"), with: name("a"))
      case .labelWithoutFlag:
        try #require(bytes[0] & 1 == 1)
        bytes[0] &= ~1
      case .expiryWithoutFlag: bytes[20] = 1
      }
    }
  }

  @Test(arguments: Malformed.allCases)
  private func `is corrupt for a load and a search if its metadata are malformed`(
    malformed: Malformed
  ) async throws {
    try await store.fill([.sample(label: "label", attributes: ["a": "", "b": ""])])
    try store.changeRawRow { try! malformed.change(&$0.metadata) }
    let opened = try await store.open()
    await expect(.corrupt) { try await opened.credentials.load(.sample) }
    await expect(.corrupt) { try await opened.credentials.findAll() }
    await opened.close()
    #expect(
      try store.examine().faults.map(\.message) == ["its label, attributes or times are invalid"])
  }

  private func make(_ crafted: Crafted, openedBy source: EncryptedFile.KeySource) throws {
    try FileManager.default.createDirectory(
      atPath: store.directory("data"), withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    try prepareDirectory(of: store.keyPath)
    let options = EncryptedFile.Options(
      path: store.path, keySource: source, passphraseCost: .least)
    try createStore(options) { database, keys, header throws(StorageError) in
      for row in crafted.rows {
        let tag = keys.tag(of: row.tagsOf ?? row.key)
        var nonces = Nonces(options.nonces(2))
        let sealed = keys.seal(
          Metadata(
            .sample(row.key, secret: row.secret), createdAt: .sample, modifiedAt: .sample),
          Secret(utf8: row.secret), nil, as: RowIdentity(tag: tag, sequence: row.sequence), &nonces)
        try database.put(sealed, at: RowAddresses.of(tag).lowerBound + row.offset)
        header.replaceRow(nil, with: keys.hash(of: sealed))
      }
      header.sequence = 3
    }
  }
}
