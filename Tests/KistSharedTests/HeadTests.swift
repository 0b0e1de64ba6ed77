import KistCluster
import KistCore
import KistSodium
import KistTesting
import KistVault
import Testing

@testable import KistShared

@Suite(.timeLimit(.minutes(5))) struct `A head` {
  private func vault() throws -> SharedVault {
    var vault = try SharedVault()
    try vault.save("a")
    try vault.save("b", by: SharedVault.other)
    return vault
  }

  @Test func `follows from each change, and the copy has the rows of the vault`() throws {
    var vault = try vault()
    try vault.save("a", secret: "new")
    let b = RecordID(vault.keys.store.tag(of: CredentialKey(service: "service", account: "b")).key)
    try vault.delete(b)
    try vault.apply(vault.signed(vault.next(.nothing)))
    try vault.save("c")
    #expect(vault.head.head.sequence == 6 && vault.head.head.count == 2)
    #expect(Set(vault.copy.keys) == Set(vault.rows.keys) && vault.copy.count == 2)
    try vault.list(vault.rows)
  }

  @Test func `is verified for many changes at once, though replaced rows are gone`() throws {
    var vault = try vault()
    let (known, copy) = (vault.head, vault.copy)
    let a = try vault.save("a", secret: "new")
    let c = try vault.save("c")
    try vault.save("a", secret: "newest")
    try vault.delete(c)
    var heads: [VerifiedHead] = []
    for record in vault.heads.suffix(4) {
      heads.append(
        try vault.keys.verifyNextHead(record, after: heads.last ?? known, in: [vault.roster]))
    }
    let rows = try vault.keys.verifyRows(of: heads, after: known, vault.rows) { copy[$0] }
    #expect(rows == [a: vault.copy[a], c: nil])
  }

  /// Numbers that do not follow from the change, though a writer signed them.
  enum Fault: CaseIterable {
    case count, sum, epoch, before, sequence, sameSequence, roster, row, kind, operationKey

    func apply(to head: inout Head, _ vault: SharedVault) {
      switch self {
      case .count: head.count += 1
      case .sum: head.sum = .zero
      case .epoch: head.epoch = Epoch(6)
      case .before: head.before = Digest(of: [1])
      case .sequence: head.sequence += 1
      case .sameSequence: head.sequence -= 1
      case .roster: head.roster = Digest(of: [1])
      case .row:
        if case .save(let key, _) = head.change { head.change = .save(key, row: Digest(of: [1])) }
      case .kind: head.change = .nothing
      case .operationKey: head.change = .save(vault.copy.keys.first!, row: Digest(of: [1]))
      }
    }
  }

  @Test(arguments: Fault.allCases)
  func `that does not follow from the change is corrupt, though a writer signed it`(
    fault: Fault
  ) async throws {
    let vault = try vault()
    let row = try vault.row("c")
    let record = vault.keys.encode(row, nonce: nonce())
    let change = Head.Change.save(RecordID(row.identity.tag.key), row: Digest(of: record))
    let head = vault.next(change, row: row) { fault.apply(to: &$0, vault) }
    await expect(.corrupt) {
      var vault = vault
      try vault.apply(vault.signed(head), record)
    }
  }

  @Test(arguments: [0, 4, 5])
  func `of a change that it cannot be is corrupt`(kind: UInt32) async throws {
    let vault = try vault()
    let changes: [UInt32: Head.Change] = [0: .begin, 4: .roster, 5: .generation]
    let head = vault.next(try #require(changes[kind]))
    await expect(.corrupt) {
      try vault.keys.verifyNextHead(vault.signed(head), after: vault.head, in: [vault.roster])
    }
  }

  @Test func `names a new roster in the change that says so`() async throws {
    let vault = try vault()
    let record = try SharedVault.roster(
      vault.keys, vault.master, number: 2, before: vault.roster.digest
    ).encoded(signedBy: SharedVault.admin, index: 0)
    let roster = try VerifiedRoster(verifying: record, after: vault.roster)
    for (change, isRight) in [(Head.Change.roster, true), (.nothing, false), (.generation, false)] {
      let head = vault.signed(vault.next(change) { $0.roster = roster.digest })
      if isRight {
        _ = try vault.keys.verifyNextHead(head, after: vault.head, in: [vault.roster, roster])
      } else {
        await expect(.corrupt) {
          try vault.keys.verifyNextHead(head, after: vault.head, in: [vault.roster, roster])
        }
      }
      // The roster that it names is not known.
      await expect(.corrupt) {
        try vault.keys.verifyNextHead(head, after: vault.head, in: [vault.roster])
      }
    }
  }

  @Test func `does not put an earlier roster back, though a writer of that roster made it`()
    async throws
  {
    let vault = try vault()
    let record = try SharedVault.roster(
      vault.keys, vault.master, number: 2, before: vault.roster.digest,
      readers: [SharedVault.reader, SharedVault.other], writers: [SharedVault.writer]
    ).encoded(signedBy: SharedVault.admin, index: 0)
    let rosters = [vault.roster, try VerifiedRoster(verifying: record, after: vault.roster)]
    let changed = vault.next(.roster) { $0.roster = rosters[1].digest }
    let known = try vault.keys.verifyNextHead(
      vault.signed(changed), after: vault.head, in: rosters)
    var back = vault.next(.roster)
    (back.sequence, back.before) = (known.head.sequence + 1, known.digest)
    for change in [Head.Change.roster, .nothing] {
      back.change = change
      await expect(.corrupt) { [back] in
        try vault.keys.verifyNextHead(
          vault.signed(back, by: SharedVault.other), after: known, in: rosters)
      }
    }
  }

  @Test func `begins a generation with the same credentials, under a new key`() async throws {
    let vault = try vault()
    let keys = try GenerationKeys(
      master: key(8), vault: SharedVault.id, generation: 2,
      storeID: [UInt8](repeating: 9, count: 16))
    let record = try SharedVault.roster(keys, key(8), number: 2, before: vault.roster.digest)
      .encoded(signedBy: SharedVault.admin, index: 0)
    let roster = try VerifiedRoster(verifying: record, after: vault.roster)
    func verify(count: UInt64, by signer: GenerationKeys) throws(StorageError) -> VerifiedHead {
      let head = vault.next(.generation) { ($0.roster, $0.count) = (roster.digest, count) }
      let bytes = signer.encode(head, signedBy: SharedVault.writer, nonce: nonce())
      return try signer.verifyNextHead(bytes, after: vault.head, in: [roster])
    }
    #expect(try verify(count: 2, by: keys).generation == 2)
    await expect(.corrupt) { try verify(count: 1, by: keys) }
    await expect(.corrupt) { try verify(count: 2, by: vault.keys) }
  }

  @Test func `with any flipped byte, or of another size, is corrupt or of a newer version`()
    async throws
  {
    let vault = try vault()
    let record = vault.signed(vault.next(.nothing))
    #expect(record.count == Head.size)
    for offset in record.indices {
      var changed = record
      changed[offset] ^= 0x80
      await expect(offset < 4 ? .unavailable : .corrupt) { [changed] in
        try vault.keys.verifyNextHead(changed, after: vault.head, in: [vault.roster])
      }
    }
    for changed in record.indices.map({ Array(record.prefix($0)) }) + [record + [0]] {
      await expect(.corrupt) {
        try vault.keys.verifyNextHead(changed, after: vault.head, in: [vault.roster])
      }
    }
  }

  @Test func `is not accepted from a writer after the end of its time`() async throws {
    let vault = try vault()
    let record = try SharedVault.roster(
      vault.keys, vault.master, number: 2, before: vault.roster.digest, until: .sample(plus: 10)
    ).encoded(signedBy: SharedVault.admin, index: 0)
    let roster = try VerifiedRoster(verifying: record, after: vault.roster)
    func verify(at time: Timestamp) throws(StorageError) -> VerifiedHead {
      let head = vault.next(.roster) { ($0.roster, $0.time) = (roster.digest, time) }
      return try vault.keys.verifyNextHead(vault.signed(head), after: vault.head, in: [roster])
    }
    #expect(try verify(at: .sample(plus: 10)).head.sequence == 3)
    await expect(.corrupt) { try verify(at: .sample(plus: 11)) }
  }

  @Test func `a row with any flipped byte, or of another size, is corrupt or of a newer version`()
    async throws
  {
    let vault = try vault()
    let row = try vault.row("c")
    let record = vault.keys.encode(row, nonce: nonce())
    let key = RecordID(row.identity.tag.key)
    #expect(record.count == 280 && row.metadata.count == 104 && row.secret.count == 104)
    #expect(try vault.keys.openRow(record, key: key) == row)
    for offset in 0..<68 {
      var changed = record
      changed[offset] ^= 0x80
      await expect(offset < 4 ? .unavailable : .corrupt) { [changed] in
        try vault.keys.openRow(changed, key: key)
      }
    }
    let tooLong = record + [UInt8](repeating: 0, count: StoreFormat.longestRow)
    // The same parts, with the border between them one byte earlier and one byte later.
    let borders = [103, 105].map { size in
      record.prefix(68) + [size, 0, 0, 0] + record.dropFirst(72)
    }
    for changed in borders.map(Array.init)
      + [tooLong] + record.indices.map({ Array(record.prefix($0)) })
    {
      await expect(.corrupt) { try vault.keys.openRow(changed, key: key) }
    }
    let other = RecordID([UInt8](repeating: 0, count: 16))!
    await expect(.corrupt) { try vault.keys.openRow(record, key: other) }
  }

  @Test func `a beacon opens only for the machine that signed it, and unchanged`() async throws {
    let vault = try vault()
    let beacon = Beacon(point: vault.head.point, time: .sample)
    let record = vault.keys.encode(beacon, signedBy: SharedVault.reader, nonce: nonce())
    func open(
      _ record: [UInt8], of machine: MachineIdentity = SharedVault.reader
    ) throws(StorageError) -> Beacon? {
      try vault.keys.openBeacon(record, of: machine.id, in: vault.roster)
    }
    #expect(try open(record) == beacon)
    await expect(.corrupt) { try open(record, of: SharedVault.writer) }
    await expect(.denied) { try open(record, of: SharedVault.machine(9)) }
    for offset in record.indices where !(4..<8).contains(offset) {
      var changed = record
      changed[offset] ^= 0x80
      await expect(offset < 4 ? .unavailable : .corrupt) { [changed] in try open(changed) }
    }
    for changed in record.indices.map({ Array(record.prefix($0)) }) + [record + [0]] {
      await expect(.corrupt) { try open(changed) }
    }
  }
}
