internal import KistCluster
internal import KistCore
internal import KistShared
internal import KistSodium
internal import KistVault

/// A generation that is being written.
struct NextGeneration {
  let master: GuardedKey
  let keys: GenerationKeys
  private let old: GenerationKeys
  private let epoch: Epoch
  /// The written rows, by their key tags under the old key.
  private var written: [RecordID: (key: RecordID, hash: RowSum, summary: CredentialSummary)] = [:]
  /// What is stored in the place of the head until the generation begins; `nil` for nothing.
  var marker: [UInt8]?
  /// The roster that was announced; `nil` for none.
  var announced: Roster?

  init(
    after known: KnownVault, number: UInt32, master: GuardedKey, storeID: [UInt8]
  ) throws(StorageError) {
    (self.master, old, epoch) = (master, known.keys, known.state.epoch)
    keys = try GenerationKeys(
      master: master, vault: known.keys.vault, generation: number, storeID: storeID)
  }

  var sum: RowSum {
    var sum = RowSum.zero
    for row in written.values { sum += row.hash }
    return sum
  }

  /// The credentials, in the order of their keys.
  var credentials: [CredentialSummary] {
    written.values.map(\.summary).sorted { $0.key < $1.key }
  }

  /// Seals a row again, with the same sequence; returns its key tag and its record.
  mutating func seal(
    _ row: SealedRow, nonce: [UInt8]
  ) throws(StorageError) -> (RecordID, [UInt8]) {
    let (new, metadata) = try keys.reseal(row, of: old)
    let summary = metadata.summary(at: epoch.revision(of: row.identity.sequence))
    let key = RecordID(new.identity.tag.key)
    written[RecordID(row.identity.tag.key)] = (key, keys.store.hash(of: new), summary)
    return (key, keys.encode(new, nonce: nonce))
  }

  /// Forgets a row that was deleted under the old key; returns its key tag, if it was written.
  mutating func forget(_ old: RecordID) -> RecordID? { written.removeValue(forKey: old)?.key }
}
