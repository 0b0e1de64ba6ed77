import KistCluster
import KistCore
import KistSodium
import KistTesting
import KistVault
import Testing

@testable import KistShared

@Suite(.timeLimit(.minutes(5))) struct `A roster` {
  private let vault = try! SharedVault()
  private let stranger = try! SigningKey(seed: key(0xEE))

  private func next(
    _ roster: Roster, by admin: SigningKey = SharedVault.admin, index: UInt32 = 0
  ) throws(StorageError) -> VerifiedRoster {
    try VerifiedRoster(
      verifying: roster.encoded(signedBy: admin, index: index), after: vault.roster)
  }

  private func roster(
    number: UInt64 = 2, before: Digest? = nil, admins: [[UInt8]] = [SharedVault.admin.publicKey]
  ) throws -> Roster {
    try SharedVault.roster(
      vault.keys, vault.master, number: number, before: before ?? vault.roster.digest,
      admins: admins)
  }

  @Test func `follows the one before if its admin signed it`() throws {
    #expect(try next(roster()).roster.number == 2)
    let keys = try GenerationKeys(
      master: key(8), vault: SharedVault.id, generation: 2,
      storeID: [UInt8](repeating: 9, count: 16))
    let renewed = try SharedVault.roster(keys, key(8), number: 2, before: vault.roster.digest)
    #expect(try next(renewed).roster.generation == 2)
  }

  @Test func `is signed by an admin of the one before, not by a new one`() async throws {
    let both = try roster(admins: [SharedVault.admin.publicKey, stranger.publicKey])
    await expect(.corrupt) { try next(both, by: stranger, index: 1) }
    await expect(.corrupt) { try next(both, by: stranger, index: 0) }
    await expect(.corrupt) { try next(both, index: 1) }
    let second = try next(both)
    let third = try SharedVault.roster(vault.keys, vault.master, number: 3, before: second.digest)
    let verified = try VerifiedRoster(
      verifying: third.encoded(signedBy: stranger, index: 1), after: second)
    #expect(verified.roster.number == 3)
  }

  /// A change that an admin would not make.
  enum Fault: CaseIterable {
    case sameNumber, laterNumber, otherBefore, otherVault, otherKey, otherStore, sameStoreForNewKey
    case sameKeyForNewStore, earlierGeneration

    func apply(to roster: inout Roster) {
      switch self {
      case .sameNumber: (roster.number, roster.before) = (1, .none)
      case .laterNumber: roster.number = 3
      case .otherBefore: roster.before = Digest(of: [1])
      case .otherVault: roster.vault = RecordID([UInt8](repeating: 2, count: 16))!
      case .otherKey: roster.keyCheck = Digest(of: [1])
      case .otherStore: roster.storeID[0] ^= 1
      case .sameStoreForNewKey: (roster.generation, roster.keyCheck) = (2, Digest(of: [1]))
      case .sameKeyForNewStore:
        roster.generation = 2
        roster.storeID[0] ^= 1
      case .earlierGeneration:
        (roster.generation, roster.keyCheck) = (0, Digest(of: [1]))
        roster.storeID[0] ^= 1
      }
    }
  }

  @Test(arguments: Fault.allCases)
  func `that does not follow from the one before is corrupt, though it is signed`(
    fault: Fault
  ) async throws {
    var roster = try roster()
    fault.apply(to: &roster)
    await expect(.corrupt) { [roster] in try next(roster) }
  }

  @Test func `is verified by the key that a new machine was given, from a number on`() async throws
  {
    let record = try roster().encoded(signedBy: SharedVault.admin, index: 0)
    func verify(
      _ vault: RecordID = SharedVault.id, _ admin: SigningKey = SharedVault.admin, from: UInt64
    ) throws(StorageError) -> VerifiedRoster {
      try VerifiedRoster(
        verifying: record, of: vault, signedBy: admin.publicKey, notBefore: from)
    }
    #expect(try verify(from: 2).digest == Digest(of: record))
    await expect(.corrupt) { try verify(from: 3) }
    await expect(.corrupt) { try verify(SharedVault.writer.id, from: 2) }
    await expect(.corrupt) { try verify(SharedVault.id, stranger, from: 2) }
  }

  @Test func `with any flipped byte, or of another size, is corrupt or of a newer version`()
    async throws
  {
    let record = vault.rosterBytes
    for offset in record.indices {
      var changed = record
      changed[offset] ^= 0x80
      await expect(offset < 4 ? .unavailable : .corrupt) { [changed] in
        try VerifiedRoster(
          verifying: changed, of: SharedVault.id, signedBy: SharedVault.admin.publicKey)
      }
    }
    for changed in record.indices.map({ Array(record.prefix($0)) }) + [record + [0]] {
      await expect(.corrupt) {
        try VerifiedRoster(
          verifying: changed, of: SharedVault.id, signedBy: SharedVault.admin.publicKey)
      }
    }
  }

  /// The offsets are those of docs/shared-format.md, with one admin.
  @Test(
    arguments: [
      ("the number 0", 20, [0]), ("no roster before", 28, nil),
      ("a time out of range", 66, [0, 0x7F]),
      ("the generation 0", 68, [0]), ("a wrong id", 160, [0]), ("an unknown role", 176, [3]),
      ("a membership out of range", 470, [0, 0x7F]), ("more members than bytes", 156, [4]),
      ("too many members", 158, [1]), ("too many admins", 121, [1]),
    ] as [(String, Int, [UInt8]?)])
  func `with a value that no admin writes is corrupt, though it is signed`(
    fault: String, offset: Int, value: [UInt8]?
  ) async throws {
    let record = try roster().encoded(signedBy: SharedVault.admin, index: 0).dropLast(64)
    func verify(_ bytes: [UInt8]) throws(StorageError) -> VerifiedRoster {
      let signature = SharedVault.admin.sign((Array("kist shared roster".utf8) + bytes).span)
      return try VerifiedRoster(
        verifying: bytes + signature, of: SharedVault.id, signedBy: SharedVault.admin.publicKey)
    }
    _ = try verify(Array(record))
    var wrong = Array(record)
    let value = value ?? [UInt8](repeating: 0, count: 32)
    wrong.replaceSubrange(offset..<offset + value.count, with: value)
    #expect(wrong != Array(record))
    await expect(.corrupt) { [wrong] in try verify(wrong) }
  }

  @Test(
    arguments: [
      [], [[1], [1]], (0...16).map { [$0] },
    ] as [[[UInt8]]])
  func `has 1 to 16 different admins`(firstBytes: [[UInt8]]) async throws {
    var roster = try roster()
    roster.admins = firstBytes.map { $0 + [UInt8](repeating: 0, count: 31) }
    await expect(.corrupt) { [roster] in try next(roster) }
  }

  @Test func `lists each machine once, in the order of the ids`() async throws {
    let twice = try SharedVault.roster(
      vault.keys, vault.master, number: 2, before: vault.roster.digest,
      readers: [SharedVault.writer])
    await expect(.corrupt) { try next(twice) }
    #expect(
      vault.roster.roster.members.map(\.keys.id)
        == [
          SharedVault.writer, SharedVault.other, SharedVault.reader,
        ].map(\.id).sorted())
  }

  @Test func `with a key for a machine that is not the key of the vault is corrupt there`()
    async throws
  {
    // An admin, or a thief of the admin's key, gives one machine another key than the others.
    let other = try GenerationKeys(
      master: key(8), vault: SharedVault.id, generation: 1, storeID: vault.keys.store.storeID)
    let wrapped = try SharedVault.roster(other, key(8)).members
    let roster = Roster(
      vault.keys, number: 1, before: .none, time: .sample, admins: [SharedVault.admin.publicKey],
      members: wrapped)
    await expect(.corrupt) { try roster.openKeys(with: SharedVault.reader) }
    // The key in the box of another machine.
    let swapped = vault.roster.roster.members.map { member in
      Member(
        keys: SharedVault.reader.keys, role: .reader, wrappedKey: member.wrappedKey,
        sealedName: member.sealedName, added: .sample, until: nil)
    }
    for member in swapped {
      let roster = Roster(
        vault.keys, number: 1, before: .none, time: .sample,
        admins: [SharedVault.admin.publicKey], members: [member])
      let isOwn =
        vault.roster.roster.member(SharedVault.reader.id)?.wrappedKey == member.wrappedKey
      if isOwn {
        #expect(try roster.openKeys(with: SharedVault.reader).check == vault.keys.check)
      } else {
        await expect(.corrupt) { try roster.openKeys(with: SharedVault.reader) }
      }
    }
  }

  @Test(arguments: ["", "a\nb", String(repeating: "a", count: 61)])
  func `has no machine whose name is empty, too long or not text`(name: String) async throws {
    await expect(.badRequest) {
      try Member(
        SharedVault.writer.keys, .reader, name: name, added: .sample, wrapping: vault.master,
        of: vault.keys, nonce: nonce())
    }
  }

  @Test func `has no machine whose public key is not valid`() async throws {
    let zeros = [UInt8](repeating: 0, count: 32)
    await expect(.badRequest) {
      try Member(
        MachineKeys(signing: zeros, box: zeros), .reader, name: "name", added: .sample,
        wrapping: vault.master, of: vault.keys, nonce: nonce())
    }
  }
}
