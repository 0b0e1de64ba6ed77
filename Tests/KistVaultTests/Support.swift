import KistCore
import KistSodium
import KistTesting
import Testing

@testable import KistVault

/// The keys, the header and the nonces of a store that is in no file.
struct Vault {
  let keys: StoreKeys
  var header: Header
  var nonces = Nonces((0..<20).flatMap { [UInt8](repeating: $0, count: 24) })
  var rows: [CredentialKey: SealedRow] = [:]

  init(keyOf byte: UInt8 = 7, storeID: [UInt8] = Array(0..<16)) throws {
    keys = try StoreKeys(
      master: GuardedKey(copying: [UInt8](repeating: byte, count: 32).span), storeID: storeID)
    header = Header(epoch: 5, slots: KeySlot.hash(of: [], storeID: storeID))
  }

  func found(_ key: CredentialKey = .sample) -> FoundRow {
    FoundRow(tag: keys.tag(of: key), address: 9, row: rows[key])
  }

  /// Plans a save as if the store were a dictionary, and carries it out.
  @discardableResult
  mutating func save(
    _ credential: NewCredential = .sample(), if condition: Condition = .always,
    at now: Timestamp = .sample
  ) throws(StorageError) -> Plan<CredentialSummary> {
    let plan = try keys.plan(
      SaveRequest(credential: credential, condition: condition), on: found(credential.key),
      header, at: now, &nonces)
    if case .putRow(let row, _) = plan.writes.first { rows[credential.key] = row }
    header = plan.header
    return plan
  }

  /// Plans a deletion and carries it out.
  @discardableResult
  mutating func delete(
    _ key: CredentialKey = .sample, ifRevision revision: Revision? = nil
  ) throws(StorageError) -> Plan<Bool> {
    let plan = try keys.plan(
      DeleteRequest(key: key, ifRevision: revision), on: found(key), header)
    if plan.answer { rows[key] = nil }
    header = plan.header
    return plan
  }

  func open(_ row: SealedRow) throws(StorageError) -> OpenedRow {
    let metadata = try keys.openMetadata(row.metadata.span, as: row.identity)
    return try keys.openRow(row.secret.span, of: metadata, as: row.identity)
  }

  /// Adds the rows in the order of their addresses; returns whether each is where it is found.
  func tally(_ rows: [SealedRow]? = nil) -> RowTally {
    var tally = RowTally(keys)
    let rows = (rows ?? Array(self.rows.values)).map { row in
      (row, RowAddresses.of(row.identity.tag).lowerBound)
    }
    for (row, address) in rows.sorted(by: { $0.1 < $1.1 }) {
      let isFound = tally.add(
        row.metadata.span, row.secret.span, as: row.identity, address: address)
      #expect(isFound)
    }
    return tally
  }
}

func wiped(_ bytes: [UInt8]) -> WipedBytes {
  var wiped = WipedBytes()
  wiped.append(bytes.span)
  return wiped
}

func copy(_ bytes: consuming WipedBytes) -> [UInt8] {
  bytes.withBytes { [UInt8](copying: $0) }
}

func copy(_ sum: RowSum) -> [UInt8] {
  var bytes = WipedBytes()
  bytes.append(sum)
  return copy(bytes)
}

/// The bytes of hexadecimal digits.
func bytes(_ digits: String) -> [UInt8] {
  let digits = Array(digits.utf8)
  return stride(from: 0, to: digits.count, by: 2).map { offset in
    digits[offset].hexadecimalValue! << 4 | digits[offset + 1].hexadecimalValue!
  }
}
