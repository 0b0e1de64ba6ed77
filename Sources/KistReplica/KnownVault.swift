internal import KistCluster
internal import KistCore
internal import KistShared
internal import KistVault

/// What this machine has verified of a vault: the last head, and the roster that it names.
struct KnownVault: Sendable {
  let keys: GenerationKeys
  let rosterRecord: [UInt8]
  let roster: VerifiedRoster
  let headRecord: [UInt8]
  let head: VerifiedHead

  /// The numbers that the copy has after this head.
  var state: VaultState {
    VaultState(
      sequence: head.head.sequence, count: head.head.count, epoch: head.head.epoch,
      sum: head.head.sum)
  }

  /// Returns the note of this state.
  ///
  /// - Parameter asOf: when the state was last confirmed.
  func note(asOf: Timestamp) -> VaultNote {
    VaultNote(rosterRecord: rosterRecord, roster: roster, headRecord: headRecord, asOf: asOf)
  }
}

extension KnownVault {
  /// Opens the note that a machine wrote; throws `corrupt` if it is missing or of another machine.
  init(noted bytes: [UInt8]?, by machine: MachineIdentity) throws(StorageError) {
    try self.init(try VaultNote(required: bytes, signedBy: machine), of: machine)
  }

  init(_ note: VaultNote, of machine: MachineIdentity) throws(StorageError) {
    let keys = try note.roster.roster.openKeys(with: machine)
    self.init(
      keys: keys, rosterRecord: note.rosterRecord, roster: note.roster,
      headRecord: note.headRecord, head: try note.openHead(keys))
  }
}

extension VaultNote {
  /// Decodes a note; throws `corrupt` if it is missing or of another machine.
  init(required bytes: [UInt8]?, signedBy machine: MachineIdentity) throws(StorageError) {
    guard let bytes else {
      throw .untrusted("the note beside the copy of the vault is missing")
    }
    try self.init(bytes, signedBy: machine)
  }
}

/// The heads after a known one, each verified by the one before.
///
/// It does no I/O.
struct HeadChain {
  /// The maximum number of log entries to read together.
  private static let entriesAtOnce: UInt64 = 32
  /// The maximum number of steps to keep in memory.
  private static let mostSteps = 4096

  let start: KnownVault
  private(set) var last: KnownVault
  private var steps: [KnownVault] = []
  /// Whether earlier steps were forgotten, because there were too many.
  private var isLong = false
  /// The state of the copy; `nil` if it cannot be read.
  let copy: VaultState?
  /// Whether the copy belongs to the start or to a step that was forgotten.
  private var hasPassedCopy: Bool
  /// The roster of the start, and all newer ones.
  private var rosters: [(record: [UInt8], roster: VerifiedRoster)]

  init(after start: KnownVault, copy: VaultState?) {
    (self.start, last, self.copy) = (start, start, copy)
    hasPassedCopy = start.state == copy
    rosters = [(start.rosterRecord, start.roster)]
  }

  private var newestRoster: VerifiedRoster { rosters[rosters.count - 1].roster }

  /// The name of the roster after the newest one that was added.
  var nextRoster: RecordName { .roster(number: newestRoster.roster.number + 1) }

  /// The names of the log entries after the last head.
  var nextEntries: [RecordName] {
    let sequence = last.head.head.sequence
    return (sequence + 1...sequence + Self.entriesAtOnce).map {
      .logEntry(generation: start.keys.generation, sequence: $0)
    }
  }

  /// Verifies and adds the next roster.
  mutating func addRoster(_ record: [UInt8]) throws(StorageError) {
    rosters.append((record, try VerifiedRoster(verifying: record, after: newestRoster)))
  }

  /// Verifies and adds the next head.
  mutating func addHead(_ record: [UInt8]) throws(StorageError) {
    let head = try start.keys.verifyNextHead(
      record, after: last.head, in: rosters.map(\.roster))
    guard let named = rosters.first(where: { $0.roster.digest == head.head.roster }) else {
      throw .internal("a verified head names an unknown roster")
    }
    last = KnownVault(
      keys: start.keys, rosterRecord: named.record, roster: named.roster, headRecord: record,
      head: head)
    steps.append(last)
    if steps.count > Self.mostSteps {
      hasPassedCopy = hasPassedCopy || steps.contains { $0.state == copy }
      (steps, isLong) = ([], true)
    }
  }

  func contains(_ record: [UInt8]) -> Bool {
    start.headRecord == record || last.headRecord == record
      || steps.contains { $0.headRecord == record }
  }

  /// Whether the newest roster is of another generation, whose keys this machine does not have yet.
  var beginsGeneration: Bool { newestRoster.roster.generation != start.keys.generation }

  /// The first roster of the next generation; `nil` before it begins.
  var rosterOfNextGeneration: (record: [UInt8], roster: VerifiedRoster)? {
    rosters.first { $0.roster.roster.generation != start.keys.generation }
  }

  /// The heads after the start; `nil` if some were forgotten, because there were too many.
  var heads: [VerifiedHead]? { isLong ? nil : steps.map(\.head) }

  /// Returns the head that the copy belongs to, and the heads after it.
  ///
  /// Returns `nil` if all rows must be listed: the copy is older than the start, or there are too many
  /// heads. Throws `corrupt` if the copy belongs to none of these heads.
  func split(
    at copy: VaultState
  ) throws(StorageError) -> (base: VerifiedHead, after: [VerifiedHead])? {
    let all = [start] + steps
    guard copy.sequence >= start.head.head.sequence else { return nil }
    if isLong, hasPassedCopy, copy == self.copy { return nil }
    guard let place = all.firstIndex(where: { $0.state == copy }) else {
      throw .rolledBack("the cluster has another history than the copy on this machine")
    }
    return (all[place].head, all[(place + 1)...].map(\.head))
  }
}

extension CopyChange {
  /// Stores verified rows.
  ///
  /// - Parameter tag: returns the tags under which the copy has a row now; `nil` if it has none.
  init(
    storing rows: [RecordID: SealedRow?], replacing tag: (RecordID) -> RowTag?, state: VaultState
  ) {
    self.init(rows: [:], state: state)
    for (key, row) in rows {
      // Deletes the row also if a dishonest writer gave it another service.
      if let tag = tag(key) { self.rows[tag] = .some(nil) }
      if let row { self.rows[row.identity.tag] = row }
    }
  }

  /// Leaves exactly some rows.
  init(leaving rows: [RowTag: SealedRow], instead old: [RowTag], state: VaultState) {
    self.init(rows: rows.mapValues { .some($0) }, state: state)
    for tag in old where rows[tag] == nil { self.rows[tag] = .some(nil) }
  }
}
