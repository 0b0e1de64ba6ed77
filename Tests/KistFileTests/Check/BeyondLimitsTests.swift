import Foundation
import KistCore
import KistSodium
import KistTesting
import Testing

@testable import KistFile
@testable import KistVault

/// Whoever has the key of a store can seal anything in it: a backup may come from somebody else.
@Suite(.timeLimit(.minutes(10))) struct `A store with data that kist does not save` {
  let store = try! TestStore()
  private var key: EncryptedFile.KeySource { .keyFile(path: store.keyPath) }

  /// A credential that no save leaves, and how it is named.
  struct Planted: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var key = CredentialKey(service: "planted")
    var label: String?
    var attributes = Attributes()
    var secretSize = 8
    var sequence: UInt64 = 2
    /// Whether all but its number is as it should be, so that a salvage copies it.
    var isWhole = false

    init(_ name: String, _ change: (inout Planted) -> Void) {
      testDescription = name
      change(&self)
    }
  }

  private static func attributes(_ count: Int) -> Attributes {
    Attributes(Dictionary(uniqueKeysWithValues: (0..<count).map { (String($0), "") }))
  }

  static let planted = [
    Planted("an escape sequence in the service") { $0.key.service = "a\u{1B}[31mred" },
    Planted("a newline in the account") { $0.key.account = "a\nb" },
    Planted("an empty service") { $0.key.service = "" },
    Planted("a long account") { $0.key.account = String(repeating: "a", count: 1025) },
    Planted("a control character in the label") { $0.label = "a\u{9B}31m" },
    Planted("a long label") { $0.label = String(repeating: "a", count: 1025) },
    Planted("an attribute too many") { $0.attributes = attributes(65) },
    Planted("40,000 attributes") { $0.attributes = attributes(40_000) },
    Planted("a control character in an attribute's name") { $0.attributes = ["a\u{7F}": "b"] },
    Planted("long attributes") {
      for name in 0..<17 { $0.attributes[String(name)] = String(repeating: "a", count: 1024) }
    },
    Planted("a long secret") { $0.secretSize = Limits.secret + 1 },
    Planted("the sequence 0") {
      $0.sequence = 0
      $0.isWhole = true
    },
    Planted("the sequence 2^63") {
      $0.sequence = 1 << 63
      $0.isWhole = true
    },
    Planted("a sequence greater than the header's") {
      $0.sequence = 4
      $0.isWhole = true
    },
  ]

  @Test(arguments: planted)
  func `is corrupt, and its other credentials are loaded and salvaged`(planted: Planted)
    async throws
  {
    try make(planted, openedBy: key)
    let opened = try await store.open()
    #expect(try await opened.credentials.load(.sample).secret == NewCredential.sample().secret)
    if planted.key.isWithinLimits, planted.sequence != 4 {
      await expect(.corrupt) { try await opened.credentials.load(planted.key) }
    }
    // A find reads no secret.
    if planted.secretSize <= Limits.secret {
      await expect(.corrupt) { try await opened.credentials.findAll() }
    }
    await opened.close()

    let path = store.directory("new/credentials.db")
    let salvage = try EncryptedFile.salvage(
      path: store.path, keySource: key, to: .init(path: path, keySource: key))
    let faults = salvage.examination.faults.filter { $0.part == .credential }
    #expect(faults.map(\.key) == [planted.key.isWithinLimits ? planted.key : nil])
    #expect(salvage.copied == (planted.isWhole ? 2 : 1))
    let salvaged = try await EncryptedFile.open(.init(path: path, keySource: key))
    #expect(try await salvaged.credentials.findAll().count == salvage.copied)
    #expect(try await salvaged.access.status().integrity == .ok)
    await salvaged.close()
  }

  @Test(arguments: planted)
  func `is not restored`(planted: Planted) async throws {
    let passphrase = Secret(utf8: "of the backup")
    try make(planted, openedBy: .passphrase(passphrase))
    let new = try TestStore()
    let backup = EncryptedFile.BackupFile(path: store.path, passphrase: { passphrase })
    await expect(.corrupt) { try EncryptedFile.verify(backup) }
    await expect(.corrupt) {
      try EncryptedFile.restore(
        backup, to: .init(path: new.path, keySource: .keyFile(path: new.keyPath)))
    }
    #expect(!FileManager.default.fileExists(atPath: new.path))
  }

  @Test(
    arguments: [
      (UInt64.max, 1), (1 << 63, 1), (0, 1), (3, 4), (UInt64.max, UInt64.max),
    ] as [(UInt64, UInt64)])
  func `is corrupt where no change can leave the numbers of its header`(
    sequence: UInt64, count: UInt64
  ) async throws {
    try make(nil, openedBy: key) { ($0.sequence, $0.count) = (sequence, count) }
    await expect(.corrupt) { try await store.open() }
    #expect(try store.examine().faults.contains { $0.part == .header })
  }

  @Test func `takes changes up to the last number, and is full then`() async throws {
    try make(nil, openedBy: key) { $0.sequence = UInt64(Int64.max) - 1 }
    for _ in 0..<2 {
      let opened = try await store.open()
      let isLast = try await opened.credentials.find(CredentialQuery()).credentials[0].revision
        .rawValue.hasSuffix(".\(Int64.max)")
      if isLast {
        let error = await expect(.full) { try await opened.credentials.save(.sample()) }
        #expect(error?.outcome == .unchanged)
        await expect(.full) { try await opened.credentials.delete(.sample) }
      } else {
        try await opened.credentials.save(.sample())
      }
      #expect(try await opened.credentials.load(.sample).secret == NewCredential.sample().secret)
      await opened.close()
    }
    #expect(try store.examine().faults.isEmpty)
  }

  /// Makes a store with the sample, sequence 1, and what is planted in it.
  private func make(
    _ planted: Planted?, openedBy source: EncryptedFile.KeySource,
    _ change: (inout Header) -> Void = { _ in }
  ) throws {
    try FileManager.default.createDirectory(
      atPath: store.directory("data"), withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    try prepareDirectory(of: store.keyPath)
    let options = EncryptedFile.Options(
      path: store.path, keySource: source, passphraseCost: .least)
    try createStore(options) { database, keys, header throws(StorageError) in
      func put(_ metadata: Metadata, _ secret: Secret, _ sequence: UInt64) throws(StorageError) {
        let tag = keys.tag(of: metadata.key)
        var nonces = Nonces(options.nonces(2))
        let identity = RowIdentity(tag: tag, sequence: sequence)
        let row = keys.seal(metadata, secret, nil, as: identity, &nonces)
        try database.put(row, at: RowAddresses.of(tag).lowerBound)
        header.replaceRow(nil, with: keys.hash(of: row))
      }
      let sample = NewCredential.sample()
      try put(
        Metadata(sample, createdAt: .sample, modifiedAt: .sample), sample.secret, 1)
      if let planted {
        try put(
          Metadata(
            key: planted.key, label: planted.label, attributes: planted.attributes,
            createdAt: .sample, modifiedAt: .sample, expiresAt: nil),
          Secret(copying: [UInt8](repeating: 0x61, count: planted.secretSize)), planted.sequence)
      }
      header.sequence = 3
      change(&header)
    }
  }
}
