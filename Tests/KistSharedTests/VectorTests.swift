import KistCluster
import KistCore
import KistSodium
import KistTesting
import KistVault
import Testing

@testable import KistShared

@Suite(.timeLimit(.minutes(5))) struct `The records of a vault, against their vectors` {
  private let vectors = try! Vectors()

  @Test func `the keys of machines come from their seeds`() throws {
    for (index, vector) in vectors.machines.enumerated() {
      let keys = try vectors.identity(index).keys
      #expect(keys.signing == bytes(vector.signing) && keys.box == bytes(vector.box))
      #expect(keys.id == id(vector.id))
    }
    let admin = try SigningKey(seed: key(bytes(vectors.admin.seed)))
    #expect(admin.publicKey == bytes(vectors.admin.public))
  }

  @Test func `rosters are encoded and signed to the bytes of the vectors`() throws {
    let admin = try SigningKey(seed: key(bytes(vectors.admin.seed)))
    var before = Digest.none
    for vector in vectors.rosters {
      let keys = try vectors.keys(vector.generation)
      #expect(keys.check.bytes == bytes(vectors.generations[vector.generation - 1].check))
      let members = try vector.members.map { member in
        Member(
          keys: try vectors.identity(member.machine).keys,
          role: try #require(Member.Role(rawValue: member.role)),
          wrappedKey: bytes(member.wrappedKey), sealedName: bytes(member.sealedName),
          added: try #require(Timestamp(secondsSinceEpoch: member.added)),
          until: member.until == 0 ? nil : Timestamp(secondsSinceEpoch: member.until))
      }
      let roster = Roster(
        keys, number: vector.number, before: before,
        time: try #require(Timestamp(secondsSinceEpoch: vector.time)), admins: [admin.publicKey],
        members: members.reversed())
      let record = roster.encoded(signedBy: admin, index: 0)
      #expect(record == bytes(vector.record))
      #expect(
        roster.encoded(signedBy: admin, index: 0, for: .announcement) == bytes(vector.announcement))
      before = Digest(of: record)
      #expect(before.bytes == bytes(vector.digest))
    }
  }

  @Test func `an announcement gives the key of the next roster, and is none itself`() async throws {
    let rosters = try vectors.verifiedRosters()
    for (known, next) in zip(rosters, vectors.rosters.dropFirst()) {
      let announced = try known.announced(bytes(next.announcement))
      #expect(announced.keyCheck.bytes == bytes(vectors.generations[next.generation - 1].check))
      await expect(.corrupt) {
        try VerifiedRoster(verifying: bytes(next.announcement), after: known)
      }
      await expect(.corrupt) { try known.announced(bytes(next.record)) }
    }
  }

  @Test func `rosters verify one after another, and give members the key and their names`()
    async throws
  {
    for (roster, vector) in zip(try vectors.verifiedRosters(), vectors.rosters) {
      #expect(roster.digest.bytes == bytes(vector.digest))
      let generation = vectors.generations[vector.generation - 1]
      for member in vector.members {
        let identity = try vectors.identity(member.machine)
        let keys = try roster.roster.openKeys(with: identity)
        #expect(keys.check.bytes == bytes(generation.check))
        #expect(keys.store.storeID == bytes(generation.storeID))
        let found = try #require(roster.roster.member(identity.id))
        #expect(try keys.name(of: found) == member.name)
        let sealed = try Member(
          identity.keys, found.role, name: member.name, added: found.added, until: found.until,
          wrapping: key(bytes(generation.master)), of: keys, nonce: bytes(member.nameNonce))
        #expect(sealed.sealedName == found.sealedName)
        #expect(sealed.wrappedKey.count == found.wrappedKey.count)
      }
    }
    let removed = try vectors.identity(1)
    let last = try vectors.verifiedRosters()[2].roster
    await expect(.denied) { try last.openKeys(with: removed) }
  }

  @Test func `rows are encoded to the bytes of the vectors, and opened again`() throws {
    for vector in vectors.rows {
      let keys = try vectors.keys(vector.generation)
      let tag = keys.store.tag(of: CredentialKey(service: vector.service, account: vector.account))
      #expect([UInt8](copying: tag.service.bytes.span) == bytes(vector.serviceTag))
      #expect(RecordID(tag.key) == id(vector.keyTag))
      let row = SealedRow(
        identity: RowIdentity(tag: tag, sequence: vector.sequence),
        metadata: bytes(vector.metadata), secret: bytes(vector.secret))
      #expect(keys.encode(row, nonce: bytes(vector.placeNonce)) == bytes(vector.record))
      #expect(try keys.openRow(bytes(vector.record), key: id(vector.keyTag)) == row)
      let metadata = try keys.store.openMetadata(row.metadata.span, as: row.identity)
      #expect(metadata.key.service == vector.service && metadata.key.account == vector.account)
    }
  }

  @Test func `a row of the generation before is sealed again to the bytes of the vector`() throws {
    let (old, new) = (vectors.rows[1], vectors.rows[2])
    let (before, keys) = (try vectors.keys(1), try vectors.keys(2))
    let (sealed, metadata) = try keys.reseal(
      before.openRow(bytes(old.record), key: id(old.keyTag)), of: before)
    #expect(sealed == (try keys.openRow(bytes(new.record), key: id(new.keyTag))))
    #expect(metadata.key.service == new.service)
  }

  @Test func `heads are sealed and signed to the bytes of the vectors`() throws {
    for vector in vectors.heads {
      let keys = try vectors.keys(vector.generation)
      var sum = RowSum.zero
      for row in vectors.rows where row.generation == vector.generation {
        let opened = try keys.openRow(bytes(row.record), key: id(row.keyTag))
        let isGone =
          row.sequence > vector.sequence || (vector.sequence >= 5 && row.sequence == 1)
        if !isGone { sum += keys.store.hash(of: opened) }
      }
      let row = Digest(copying: bytes(vector.row))
      let changes: [Head.Change] = [
        .begin, .save(id(vector.key), row: row), .delete(id(vector.key)), .nothing, .roster,
        .generation, .pause, .announcement,
      ]
      let head = Head(
        sequence: vector.sequence, count: vector.count,
        epoch: Epoch(try #require(UInt64(vector.epoch, radix: 16))), sum: sum,
        roster: Digest(copying: bytes(vector.roster)),
        before: Digest(copying: bytes(vector.before)),
        time: try #require(Timestamp(secondsSinceEpoch: vector.time)),
        operation: id(vector.operation), change: changes[Int(vector.kind)])
      let record = keys.encode(
        head, signedBy: try vectors.identity(vector.machine), nonce: bytes(vector.nonce))
      #expect(record == bytes(vector.record))
      #expect(Digest(of: record).bytes == bytes(vector.digest))
      #expect(try keys.openHead(record, in: vectors.verifiedRosters()).head == head)
    }
  }

  @Test func `heads verify one after another, and the rows with them`() throws {
    let rosters = try vectors.verifiedRosters()
    let records = vectors.heads.map { bytes($0.record) }
    var known = try vectors.keys(1).verifyHead(
      records[0], in: rosters[0],
      notBefore: HeadPoint(sequence: 0, digest: Digest(of: records[0])))
    var copy: [RecordID: SealedRow] = [:]
    for (record, vector) in zip(records, vectors.heads).dropFirst() {
      let keys = try vectors.keys(vector.generation)
      let next = try keys.verifyNextHead(record, after: known, in: rosters)
      if next.head.change != .generation {
        let rows = vectors.rows.filter { $0.sequence == vector.sequence }.map {
          (id($0.keyTag), bytes($0.record))
        }
        let verified = try keys.verifyRows(
          of: [next], after: known, Dictionary(rows) { row, _ in row }
        ) { copy[$0] }
        for (key, row) in verified { copy[key] = row }
      }
      known = next
    }
    #expect(known.generation == 2 && known.head.sequence == 8 && copy.count == 1)
    var list = RowList(of: try vectors.keys(2), head: known)
    let last = vectors.rows[2]
    let opened = try list.add(bytes(last.record), key: id(last.keyTag))
    try list.conclude()
    #expect(opened.identity.sequence == 3)
  }

  @Test func `a beacon is sealed and signed to the bytes of the vector`() throws {
    let (vector, keys) = (vectors.beacon, try vectors.keys(1))
    let machine = try vectors.identity(vector.machine)
    let beacon = Beacon(
      point: HeadPoint(
        sequence: vector.sequence, digest: Digest(copying: bytes(vector.head))),
      time: try #require(Timestamp(secondsSinceEpoch: vector.time)))
    let record = keys.encode(beacon, signedBy: machine, nonce: bytes(vector.nonce))
    #expect(record == bytes(vector.record) && record.count == Beacon.size)
    let rosters = try vectors.verifiedRosters()
    #expect(try keys.openBeacon(record, of: machine.id, in: rosters[1]) == beacon)
    // In another generation it says nothing.
    #expect(try vectors.keys(2).openBeacon(record, of: machine.id, in: rosters[1]) == nil)
  }

  @Test func `the paths of all records are names`() throws {
    for path in vectors.records.keys { #expect(RecordName(path: path)?.path == path) }
    #expect(vectors.records.count == 11)
  }
}
