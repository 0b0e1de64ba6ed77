package import KistCluster
package import KistCore
package import KistVault

/// A place in the history of a vault.
package struct HeadPoint: Hashable, Sendable {
  /// The number of the change.
  package let sequence: UInt64
  /// The hash of its head.
  package let digest: Digest

  package init(sequence: UInt64, digest: Digest) {
    (self.sequence, self.digest) = (sequence, digest)
  }
}

/// A head that was verified, by the head before or by the roster.
package struct VerifiedHead: Equatable, Sendable {
  /// The content.
  package let head: Head
  /// The machine that signed it.
  package let machine: RecordID
  /// The hash of the record.
  package let digest: Digest
  /// The generation.
  package let generation: UInt32
  /// The number of the roster that the head names.
  package let rosterNumber: UInt64

  /// The place of the head in the history.
  package var point: HeadPoint { HeadPoint(sequence: head.sequence, digest: digest) }
}

extension GenerationKeys {
  /// Verifies a head without the one before, for a machine that knows only a point of the history.
  ///
  /// Throws `corrupt` if no writer of the roster made it, if it is older than the point, or if it is
  /// another head with the sequence of the point. The caller must then list all rows, and verify them
  /// with `RowList`.
  package func verifyHead(
    _ bytes: [UInt8], in roster: VerifiedRoster, notBefore point: HeadPoint
  ) throws(StorageError) -> VerifiedHead {
    let head = try openHead(bytes, in: [roster])
    guard head.head.sequence > point.sequence || head.point == point else { throw .olderHead }
    return head
  }

  /// Verifies a head, or a log entry, by the head directly before it.
  ///
  /// Throws `corrupt` unless a writer of the roster that it names made it, and it follows from the
  /// head before. `verifyRows` verifies the rows. After a `generation` change, all rows were sealed again:
  /// the caller must do the same and compare the sum, or list all rows and verify them with `RowList`.
  ///
  /// - Parameter known: the head before, of this generation or, for a new one, of the generation
  ///   before.
  /// - Parameter rosters: the verified rosters that the head may name.
  package func verifyNextHead(
    _ bytes: [UInt8], after known: VerifiedHead, in rosters: [VerifiedRoster]
  ) throws(StorageError) -> VerifiedHead {
    let next = try openHead(bytes, in: rosters)
    let (head, before) = (next.head, known.head)
    guard head.sequence > before.sequence else { throw .olderHead }
    guard head.sequence == before.sequence + 1 else {
      throw .untrusted("changes of the vault are missing before its head")
    }
    guard head.before == known.digest else {
      throw .rolledBack("the head of the vault belongs to another history")
    }
    let isNewGeneration = head.change == .generation
    let hasNewRoster = isNewGeneration || head.change == .roster
    // So no writer can put an earlier roster back.
    guard next.rosterNumber == known.rosterNumber + (hasNewRoster ? 1 : 0),
      hasNewRoster || head.roster == before.roster,
      isNewGeneration ? generation > known.generation : generation == known.generation
    else {
      throw .untrusted("the vault changed its roster or its key without a change that says so")
    }
    guard head.epoch == before.epoch, head.change.isPossible(head.count, after: before.count) else {
      throw .wrongNumbers
    }
    return next
  }

  /// Verifies the rows of verified heads that follow each other, and returns the rows to store.
  ///
  /// Returns the row of each credential that was saved, and `nil` for each that was deleted. Throws
  /// `corrupt` if a row is not the one that its head names, or if the rows do not lead to the sum and
  /// the number of rows in the last head.
  ///
  /// - Parameter heads: one head or more, of this generation, none of which begins a generation.
  /// - Parameter known: the head before the first one.
  /// - Parameter rows: the records of the saved rows, by key tag; only the last one of each credential
  ///   still exists.
  /// - Parameter replaced: returns the row of a credential in the local copy; `nil` if there is none.
  package func verifyRows(
    of heads: [VerifiedHead], after known: VerifiedHead, _ rows: [RecordID: [UInt8]],
    replaced: (RecordID) throws(StorageError) -> SealedRow?
  ) throws(StorageError) -> [RecordID: SealedRow?] {
    var changes: [RecordID: Head] = [:]
    for head in heads.map(\.head) {
      precondition(head.change != .generation, "all rows of a new generation are listed")
      if let key = head.change.key { changes[key] = head }
    }
    var verified: [RecordID: SealedRow?] = [:]
    for (key, head) in changes { verified[key] = .some(try openRow(of: head, rows[key])) }
    var (sum, count) = (known.head.sum, known.head.count)
    for (key, row) in verified {
      if let old = try replaced(key) {
        guard count > 0 else { throw .wrongNumbers }
        sum -= store.hash(of: old)
        count -= 1
      }
      if let row {
        sum += store.hash(of: row)
        count += 1
      }
    }
    if let last = heads.last?.head {
      guard last.sum == sum, last.count == count else { throw .wrongNumbers }
    }
    return verified
  }

  /// Returns the row that a change saved; throws `corrupt` if it is not the one that the head names.
  private func openRow(of head: Head, _ bytes: [UInt8]?) throws(StorageError) -> SealedRow? {
    guard case .save(let key, let digest) = head.change else { return nil }
    guard let bytes, Digest(of: bytes) == digest else { throw .wrongRow }
    let row = try openRow(bytes, key: key)
    guard row.identity.sequence == head.sequence else {
      throw .untrusted("the row of a saved credential is of another change")
    }
    return row
  }
}

extension Head.Change {
  /// The key tag of the credential that was changed; `nil` for other changes.
  package var key: RecordID? {
    switch self {
    case .save(let key, _), .delete(let key): key
    case .begin, .nothing, .roster, .generation, .pause, .announcement: nil
    }
  }

  /// Returns whether the change can lead from one number of credentials to another.
  fileprivate func isPossible(_ count: UInt64, after before: UInt64) -> Bool {
    switch self {
    case .save: count == before || count == before + 1
    case .delete: count + 1 == before
    case .begin, .nothing, .roster, .generation, .pause, .announcement: count == before
    }
  }
}

/// Verifies a list of all rows of a generation by its head.
///
/// It shows that no row is missing, added, replaced or changed. The metadata and the secret of a row
/// are authenticated, but not decrypted.
package struct RowList {
  private let keys: GenerationKeys
  private let head: Head
  private var sum = RowSum.zero
  private var keyTags: Set<RecordID> = []
  private var sequences: Set<UInt64> = []

  /// Begins without rows.
  package init(of keys: GenerationKeys, head: VerifiedHead) {
    (self.keys, self.head) = (keys, head.head)
  }

  /// Decodes and adds a row; throws `corrupt` if it cannot be one of this head.
  package mutating func add(_ bytes: [UInt8], key: RecordID) throws(StorageError) -> SealedRow {
    let row = try keys.openRow(bytes, key: key)
    let sequence = row.identity.sequence
    guard sequence <= head.sequence, keyTags.insert(key).inserted,
      sequences.insert(sequence).inserted
    else { throw .wrongList }
    // The hash of a row covers only the ends of its sealed parts.
    do throws(StorageError) { try keys.store.authenticate(row) } catch { throw .wrongList }
    sum += keys.store.hash(of: row)
    return row
  }

  /// Throws `corrupt` unless the added rows are exactly those of the head.
  package func conclude() throws(StorageError) {
    guard sum == head.sum, UInt64(keyTags.count) == head.count else { throw .wrongList }
  }
}

extension StorageError {
  /// The row of a credential does not have the hash that its head names.
  package static let wrongRow = untrusted(
    "the row of a saved credential is missing or was changed")
  fileprivate static let olderHead = rolledBack(
    "the cluster has an older state of the vault than this machine has seen")
  fileprivate static let wrongNumbers = untrusted(
    "the head of the vault does not follow from the changes that it describes")
  fileprivate static let wrongList = untrusted(
    "credentials of the vault were removed, changed or replaced by earlier copies")
}
