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
    _ row: SealedRow, nonces random: [UInt8]
  ) throws(StorageError) -> (RecordID, [UInt8]) {
    let sequence = row.identity.sequence
    let metadata = try old.store.openMetadata(row.metadata.span, as: row.identity)
    let opened = try old.store.openRow(row.secret.span, of: metadata, as: row.identity)
    let summary = opened.metadata.summary(at: epoch.revision(of: sequence))
    var nonces = Nonces(random)
    let placeNonce = nonces.next()
    let new = keys.store.seal(
      opened.metadata, opened.secret, opened.secretFields,
      as: RowIdentity(tag: keys.store.tag(of: summary.key), sequence: sequence), &nonces)
    let key = RecordID(new.identity.tag.key)
    written[RecordID(row.identity.tag.key)] = (key, keys.store.hash(of: new), summary)
    return (key, keys.encode(new, nonce: placeNonce))
  }

  /// Forgets a row that was deleted under the old key; returns its key tag, if it was written.
  mutating func forget(_ old: RecordID) -> RecordID? { written.removeValue(forKey: old)?.key }
}
