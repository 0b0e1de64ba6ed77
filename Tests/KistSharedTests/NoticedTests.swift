import KistCluster
import KistCore
import KistSodium
import KistTesting
import KistVault
import Testing

@testable import KistShared

@Suite(.timeLimit(.minutes(5))) struct `A machine notices a cluster` {
  private func vault() throws -> SharedVault {
    var vault = try SharedVault()
    for account in ["a", "b", "c"] { try vault.save(account) }
    return vault
  }

  /// Changes of the rows that a new machine lists.
  enum ListFault: CaseIterable {
    case metadata, secret, swap, remove, add, half, all, oldRow

    func apply(to rows: inout [RecordID: [UInt8]], of vault: inout SharedVault) throws {
      let keys = rows.keys.sorted()
      switch self {
      // In the middle of a sealed part; the sum covers only the ends.
      case .metadata: rows[keys[0]]![120] ^= 1
      case .secret: rows[keys[0]]![220] ^= 1
      case .swap: (rows[keys[0]], rows[keys[1]]) = (rows[keys[1]], rows[keys[0]])
      case .remove: rows[keys[0]] = nil
      case .add:
        let row = try vault.row("d")
        rows[RecordID(row.identity.tag.key)] = vault.keys.encode(row, nonce: nonce())
      case .half: for key in keys.dropFirst(1) { rows[key] = nil }
      case .all: rows = [:]
      case .oldRow:
        let old = rows
        let key = try vault.save("a", secret: "new")
        rows[key] = old[key]
      }
    }
  }

  @Test(arguments: ListFault.allCases)
  func `that changes, swaps, adds, removes or puts back rows, when it lists them`(
    fault: ListFault
  ) async throws {
    var vault = try vault()
    var rows = vault.rows
    try vault.list(rows)
    try fault.apply(to: &rows, of: &vault)
    await expect(.corrupt) { [vault, rows] in try vault.list(rows) }
  }

  @Test func `that puts one row back or changes it, when it knows the head before`() async throws {
    var vault = try vault()
    let before = vault
    let key = try vault.save("a", secret: "new")
    let (record, old, new) = (vault.heads.last!, before.rows[key]!, vault.rows[key]!)
    for row in [old, Array(new.dropLast()) + [new.last! ^ 1], nil] {
      await expect(.corrupt) {
        var machine = before
        try machine.apply(record, row)
      }
    }
    var machine = before
    try machine.apply(record, new)
    #expect(machine.head == vault.head)
  }

  @Test func `that puts everything back, by the lower sequence or roster number`() async throws {
    let vault = try vault()
    for record in vault.heads {
      await expect(.corrupt) {
        try vault.keys.verifyNextHead(record, after: vault.head, in: [vault.roster])
      }
    }
    let next = try SharedVault.roster(
      vault.keys, vault.master, number: 2, before: vault.roster.digest
    ).encoded(signedBy: SharedVault.admin, index: 0)
    let known = try VerifiedRoster(verifying: next, after: vault.roster)
    for old in [vault.rosterBytes, next] {
      await expect(.corrupt) { try VerifiedRoster(verifying: old, after: known) }
    }
  }

  @Test func `that puts everything back, when it is new, only before the point that it was given`()
    async throws
  {
    let vault = try vault()
    func join(_ index: Int, notBefore point: HeadPoint) throws(StorageError) -> VerifiedHead {
      try vault.keys.verifyHead(vault.heads[index], in: vault.roster, notBefore: point)
    }
    let point = HeadPoint(sequence: 2, digest: Digest(of: vault.heads[2]))
    #expect(try join(2, notBefore: point).point == point)
    #expect(try join(3, notBefore: point) == vault.head)
    await expect(.corrupt) { try join(1, notBefore: point) }
    await expect(.corrupt) {
      try join(2, notBefore: HeadPoint(sequence: 2, digest: Digest(of: [1])))
    }
  }

  @Test func `that gives members a key of its own`() async throws {
    let vault = try vault()
    let own = try GenerationKeys(
      master: key(0xEE), vault: SharedVault.id, generation: 1, storeID: vault.keys.store.storeID)
    let forged = try SharedVault.roster(own, key(0xEE), number: 2, before: vault.roster.digest)
    let signer = try SigningKey(seed: key(0xEE))
    let record = forged.encoded(signedBy: signer, index: 0)
    await expect(.corrupt) { try VerifiedRoster(verifying: record, after: vault.roster) }
    await expect(.corrupt) {
      try VerifiedRoster(
        verifying: record, of: SharedVault.id, signedBy: SharedVault.admin.publicKey)
    }
    // It makes heads with its key, too.
    let head = own.encode(vault.next(.nothing), signedBy: SharedVault.writer, nonce: nonce())
    await expect(.corrupt) {
      try vault.keys.verifyNextHead(head, after: vault.head, in: [vault.roster])
    }
  }

  @Test func `that makes a reader a writer in the roster`() async throws {
    let vault = try vault()
    var record = vault.rosterBytes
    let index = vault.roster.roster.members.firstIndex { $0.role == .reader }!
    let offset = 124 + 32 + 4 + 320 * index + 16
    #expect(record[offset] == 1)
    record[offset] = 2
    await expect(.corrupt) { [record] in
      try VerifiedRoster(
        verifying: record, of: SharedVault.id, signedBy: SharedVault.admin.publicKey)
    }
  }

  @Test func `that joins two histories, by the chain of the heads`() async throws {
    var (left, right) = (try vault(), try vault())
    try left.save("d")
    try right.save("e")
    try right.save("f")
    // The second history is newer, and its last head follows from its own one before.
    await expect(.corrupt) {
      try left.keys.verifyNextHead(right.heads[5], after: left.head, in: [left.roster])
    }
    // The log of the second history does not contain the head that this machine knows.
    await expect(.corrupt) {
      try left.keys.verifyNextHead(right.heads[4], after: left.head, in: [left.roster])
    }
  }

  @Test func `that leaves out a change`() async throws {
    var vault = try vault()
    let known = vault.head
    try vault.save("d")
    try vault.save("e")
    await expect(.corrupt) { [vault] in
      try vault.keys.verifyNextHead(vault.heads[5], after: known, in: [vault.roster])
    }
  }

  @Test func `that has the key of a removed machine, after it has seen the removal`() async throws {
    let vault = try vault()
    let keys = try GenerationKeys(
      master: key(8), vault: SharedVault.id, generation: 2,
      storeID: [UInt8](repeating: 9, count: 16))
    let record = try SharedVault.roster(
      keys, key(8), number: 2, before: vault.roster.digest, writers: [SharedVault.writer]
    ).encoded(signedBy: SharedVault.admin, index: 0)
    let roster = try VerifiedRoster(verifying: record, after: vault.roster)
    await expect(.denied) { try roster.roster.openKeys(with: SharedVault.other) }
    let renewed = vault.next(.generation) { $0.roster = roster.digest }
    let known = try keys.verifyNextHead(
      keys.encode(renewed, signedBy: SharedVault.writer, nonce: nonce()), after: vault.head,
      in: [roster])
    var next = vault.next(.nothing)
    (next.sequence, next.before) = (known.head.sequence + 1, known.digest)
    // It has only the old key; or somebody gave it the new one.
    for (signer, digest) in [(vault.keys, vault.roster.digest), (keys, roster.digest)] {
      next.roster = digest
      let head = signer.encode(next, signedBy: SharedVault.other, nonce: nonce())
      await expect(.corrupt) { try keys.verifyNextHead(head, after: known, in: [roster]) }
    }
  }

  @Test func `that accepts the change of a reader`() async throws {
    let vault = try vault()
    let row = try vault.row("d")
    let record = vault.keys.encode(row, nonce: nonce())
    let head = vault.next(
      .save(RecordID(row.identity.tag.key), row: Digest(of: record)), row: row)
    for (machine, isRight) in [(SharedVault.reader, false), (SharedVault.other, true)] {
      var vault = vault
      if isRight {
        try vault.apply(vault.signed(head, by: machine), record)
      } else {
        await expect(.corrupt) { [vault] in
          var vault = vault
          try vault.apply(vault.signed(head, by: machine), record)
        }
      }
    }
    // Nor can it put the id of a writer in front of its own signature.
    var signed = vault.signed(head, by: SharedVault.reader)
    signed.replaceSubrange(4..<20, with: SharedVault.writer.id.bytes)
    await expect(.corrupt) { [signed] in
      try vault.keys.verifyNextHead(signed, after: vault.head, in: [vault.roster])
    }
  }
}
