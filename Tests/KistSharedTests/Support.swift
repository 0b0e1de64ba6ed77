import Foundation
import KistCluster
import KistCore
import KistSodium
import KistTesting
import KistVault
import Testing

@testable import KistShared

/// The bytes of hexadecimal digits.
func bytes(_ digits: String) -> [UInt8] {
  let digits = Array(digits.utf8)
  return stride(from: 0, to: digits.count, by: 2).map { offset in
    digits[offset].hexadecimalValue! << 4 | digits[offset + 1].hexadecimalValue!
  }
}

func id(_ digits: String) -> RecordID { RecordID(bytes(digits))! }

func nonce(_ byte: UInt8 = 9) -> [UInt8] { [UInt8](repeating: byte, count: 24) }

func key(_ bytes: [UInt8]) throws -> GuardedKey { try GuardedKey(copying: bytes.span) }

func key(_ byte: UInt8) throws -> GuardedKey { try key([UInt8](repeating: byte, count: 32)) }

extension Timestamp {
  static func sample(plus seconds: Int64) -> Timestamp {
    Timestamp.sample.advanced(bySeconds: seconds)!
  }
}

/// A vault with two writers, a reader and an admin, and the copy of a machine that has seen
/// everything.
struct SharedVault {
  static let id = RecordID([UInt8](repeating: 1, count: 16))!
  static let admin = try! SigningKey(seed: key(0xAD))
  static let (writer, other, reader) = (machine(1), machine(2), machine(3))

  static func machine(_ byte: UInt8) -> MachineIdentity { try! MachineIdentity(seed: key(byte)) }

  var master: GuardedKey
  var keys: GenerationKeys
  var rosterBytes: [UInt8]
  var roster: VerifiedRoster
  /// The records of the heads, in order.
  var heads: [[UInt8]] = []
  var head: VerifiedHead
  /// The records of the rows.
  var rows: [RecordID: [UInt8]] = [:]
  /// The rows in the local copy.
  var copy: [RecordID: SealedRow] = [:]

  init() throws {
    master = try key(4)
    keys = try GenerationKeys(
      master: master, vault: Self.id, generation: 1, storeID: [UInt8](repeating: 5, count: 16))
    rosterBytes = try Self.roster(keys, master).encoded(signedBy: Self.admin, index: 0)
    roster = try VerifiedRoster(
      verifying: rosterBytes, of: Self.id, signedBy: Self.admin.publicKey)
    let first = Head(
      sequence: 0, count: 0, epoch: Epoch(5), sum: .zero, roster: roster.digest, before: .none,
      time: .sample, operation: RecordID([UInt8](repeating: 7, count: 16))!, change: .begin)
    let record = keys.encode(first, signedBy: Self.writer, nonce: nonce())
    heads = [record]
    head = try keys.verifyHead(
      record, in: roster, notBefore: HeadPoint(sequence: 0, digest: Digest(of: record)))
  }

  /// A roster with all machines, or with some of them.
  static func roster(
    _ keys: GenerationKeys, _ master: GuardedKey, number: UInt64 = 1, before: Digest = .none,
    readers: [MachineIdentity] = [reader], writers: [MachineIdentity] = [writer, other],
    until: Timestamp? = nil, admins: [[UInt8]] = [admin.publicKey]
  ) throws -> Roster {
    let members = try (readers.map { ($0, Member.Role.reader) } + writers.map { ($0, .writer) })
      .map { machine, role in
        try Member(
          machine.keys, role, name: "machine", added: .sample, until: until, wrapping: master,
          of: keys, nonce: nonce())
      }
    return Roster(
      keys, number: number, before: before, time: .sample, admins: admins, members: members)
  }

  /// The row of a save that would come next.
  func row(_ account: String, secret: String = "secret") throws -> SealedRow {
    let tag = keys.store.tag(of: CredentialKey(service: "service", account: account))
    var header = Header(epoch: 5, slots: [])
    (header.sequence, header.count) = (head.head.sequence, head.head.count)
    var nonces = Nonces((0..<2).flatMap { nonce($0 + 1) })
    let plan = try keys.store.plan(
      SaveRequest(
        credential: NewCredential(
          key: CredentialKey(service: "service", account: account), secret: Secret(utf8: secret))),
      on: FoundRow(tag: tag, address: 0, row: copy[RecordID(tag.key)]), header, at: .sample, &nonces
    )
    guard case .putRow(let row, _) = plan.writes[0] else { throw Unexpected() }
    return row
  }

  /// The head of a change, which a test may alter before it is signed.
  func next(
    _ change: Head.Change, row: SealedRow? = nil, alter: (inout Head) -> Void = { _ in }
  ) -> Head {
    var next = head.head
    next.sequence += 1
    (next.before, next.change, next.roster) = (head.digest, change, roster.digest)
    if let old = change.key.flatMap({ copy[$0] }) {
      next.sum -= keys.store.hash(of: old)
      next.count -= 1
    }
    if let row {
      next.sum += keys.store.hash(of: row)
      next.count += 1
    }
    alter(&next)
    return next
  }

  func signed(_ head: Head, by machine: MachineIdentity = writer) -> [UInt8] {
    keys.encode(head, signedBy: machine, nonce: nonce())
  }

  /// Verifies a head and its row, and applies the change to the copy.
  mutating func apply(_ record: [UInt8], _ row: [UInt8]? = nil) throws(StorageError) {
    let next = try keys.verifyNextHead(record, after: head, in: [roster])
    let named = next.head.change.key.flatMap { key in row.map { [key: $0] } } ?? [:]
    let verified = try keys.verifyRows(of: [next], after: head, named) { copy[$0] }
    for (key, row) in verified {
      copy[key] = row
      rows[key] = row == nil ? nil : named[key]
    }
    head = next
    heads.append(record)
  }

  @discardableResult
  mutating func save(
    _ account: String, secret: String = "secret", by machine: MachineIdentity = writer
  ) throws -> RecordID {
    let row = try row(account, secret: secret)
    let record = keys.encode(row, nonce: nonce())
    let key = RecordID(row.identity.tag.key)
    try apply(signed(next(.save(key, row: Digest(of: record)), row: row), by: machine), record)
    return key
  }

  mutating func delete(_ key: RecordID) throws { try apply(signed(next(.delete(key)))) }

  /// Verifies a list of rows, as a new machine does.
  func list(_ rows: [RecordID: [UInt8]]) throws(StorageError) {
    var list = RowList(of: keys, head: head)
    for (key, bytes) in rows { _ = try list.add(bytes, key: key) }
    try list.conclude()
  }
}

struct Unexpected: Error {}
