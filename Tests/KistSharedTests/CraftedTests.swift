import KistCluster
import KistCore
import KistSodium
import KistTesting
import KistVault
import Testing

@testable import KistShared

/// Records that only a dishonest writer can make, because they are sealed and signed as they should
/// be.
@Suite(.timeLimit(.minutes(5))) struct `A record that a dishonest writer made` {
  private func vault() throws -> SharedVault {
    var vault = try SharedVault()
    try vault.save("a")
    try vault.save("b")
    return vault
  }

  /// Seals and signs a head again, with another message.
  private func crafted(
    _ record: [UInt8], in vault: SharedVault, _ edit: (inout [UInt8]) -> Void
  ) throws -> [UInt8] {
    let associatedData = vault.keys.associatedData(of: .sharedHead)
    let sealed = Array(record[20..<256])
    let opened = vault.keys.store.headerKey.open(sealed.span, for: associatedData.span)
    var message = try #require(opened?.withBytes { [UInt8](copying: $0) })
    edit(&message)
    var bytes = Array(record.prefix(20))
    bytes += vault.keys.store.headerKey.seal(
      message.span, for: associatedData.span, nonce: nonce())
    let signed = Array("kist shared head".utf8) + generationBytes(SharedVault.id, 1) + bytes
    return bytes + SharedVault.writer.signingKey.sign(signed.span)
  }

  @Test(
    arguments: [
      ("a count above the sequence", 8, [9]),
      ("the sequence of a new vault", 0, [UInt8](repeating: 0, count: 56)),
      ("a sequence above the maximum", 7, [0x80]), ("no head before", 88, nil),
      ("an unknown kind", 144, [8]), ("a key tag without a credential", 148, [1]),
      ("a row without a credential", 164, [1]), ("a time out of range", 126, [0, 0x7F]),
    ] as [(String, Int, [UInt8]?)])
  func `is corrupt if it is a head with a value that no change leaves`(
    fault: String, offset: Int, value: [UInt8]?
  ) async throws {
    let vault = try vault()
    let record = vault.signed(vault.next(.nothing))
    #expect(try crafted(record, in: vault) { _ in } == record)
    let value = value ?? [UInt8](repeating: 0, count: 32)
    let wrong = try crafted(record, in: vault) { message in
      message.replaceSubrange(offset..<offset + value.count, with: value)
    }
    await expect(.corrupt) { try vault.keys.openHead(wrong, in: [vault.roster]) }
  }

  @Test func `is corrupt if it is a head with a deleted credential and a row`() async throws {
    let vault = try vault()
    let key = try #require(vault.copy.keys.first)
    let record = vault.signed(vault.next(.delete(key)))
    let wrong = try crafted(record, in: vault) { $0[164] = 1 }
    _ = try vault.keys.openHead(record, in: [vault.roster])
    await expect(.corrupt) { try vault.keys.openHead(wrong, in: [vault.roster]) }
  }

  @Test func `is corrupt if it is a head with a sum and no credentials`() async throws {
    let vault = try vault()
    let sum = vault.head.head.sum
    let record = vault.signed(vault.next(.nothing) { ($0.count, $0.sum) = (0, sum) })
    await expect(.corrupt) { try vault.keys.openHead(record, in: [vault.roster]) }
  }

  @Test func `is corrupt if it leaves out a sequence`() async throws {
    let vault = try vault()
    let record = vault.signed(vault.next(.nothing) { $0.sequence += 1 })
    await expect(.corrupt) {
      try vault.keys.verifyNextHead(record, after: vault.head, in: [vault.roster])
    }
  }

  @Test func `is corrupt if it counts a replaced credential twice`() async throws {
    let vault = try vault()
    let row = try vault.row("a", secret: "new")
    let record = vault.keys.encode(row, nonce: nonce())
    let change = Head.Change.save(RecordID(row.identity.tag.key), row: Digest(of: record))
    let head = vault.signed(vault.next(change, row: row) { $0.count += 1 })
    await expect(.corrupt) {
      var vault = vault
      try vault.apply(head, record)
    }
  }

  @Test func `is corrupt if it replaces more credentials than the head before counts`() async throws
  {
    let vault = try vault()
    let begin = try vault.keys.verifyHead(
      vault.heads[0], in: vault.roster,
      notBefore: HeadPoint(sequence: 0, digest: Digest(of: vault.heads[0])))
    let first = try vault.keys.verifyNextHead(vault.heads[1], after: begin, in: [vault.roster])
    await expect(.corrupt) {
      try vault.keys.verifyRows(of: [first], after: begin, vault.rows) { vault.copy[$0] }
    }
  }

  @Test func `is corrupt if it saves the row of another change`() async throws {
    var vault = try vault()
    let row = try vault.row("c")
    try vault.save("a", secret: "new")
    let record = vault.keys.encode(row, nonce: nonce())
    let change = Head.Change.save(RecordID(row.identity.tag.key), row: Digest(of: record))
    let head = vault.signed(vault.next(change, row: row))
    await expect(.corrupt) { [vault] in
      var vault = vault
      try vault.apply(head, record)
    }
  }

  @Test func `is corrupt if it is a row of a later change than the head`() async throws {
    var later = try vault()
    let vault = later
    try later.save("a", secret: "new")
    let row = try later.row("c")
    var rows = vault.rows
    rows[RecordID(row.identity.tag.key)] = later.keys.encode(row, nonce: nonce())
    let record = vault.signed(vault.next(.nothing, row: row))
    let head = try vault.keys.verifyHead(record, in: vault.roster, notBefore: vault.head.point)
    await expect(.corrupt) { [rows] in
      var list = RowList(of: vault.keys, head: head)
      for (key, bytes) in rows { _ = try list.add(bytes, key: key) }
      try list.conclude()
    }
  }

  @Test func `is corrupt if it names another roster with the same number`() async throws {
    let vault = try vault()
    let twin = try SharedVault.roster(vault.keys, vault.master)
      .encoded(signedBy: SharedVault.admin, index: 0)
    let roster = try VerifiedRoster(
      verifying: twin, of: SharedVault.id, signedBy: SharedVault.admin.publicKey)
    #expect(roster.digest != vault.roster.digest)
    let record = vault.signed(vault.next(.nothing) { $0.roster = roster.digest })
    await expect(.corrupt) {
      try vault.keys.verifyNextHead(record, after: vault.head, in: [vault.roster, roster])
    }
  }

  @Test func `is corrupt if it begins a generation with a roster of the one before`() async throws {
    let vault = try vault()
    let second = try SharedVault.roster(
      vault.keys, vault.master, number: 2, before: vault.roster.digest
    ).encoded(signedBy: SharedVault.admin, index: 0)
    let roster = try VerifiedRoster(verifying: second, after: vault.roster)
    let keys = try GenerationKeys(
      master: key(8), vault: SharedVault.id, generation: 2,
      storeID: [UInt8](repeating: 9, count: 16))
    let head = vault.next(.generation) { $0.roster = roster.digest }
    let record = keys.encode(head, signedBy: SharedVault.writer, nonce: nonce())
    await expect(.corrupt) {
      try keys.verifyNextHead(record, after: vault.head, in: [vault.roster, roster])
    }
  }
}
