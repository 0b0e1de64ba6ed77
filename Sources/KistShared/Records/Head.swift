package import KistCluster
package import KistCore
internal import KistSodium
package import KistVault

/// The description of a vault after a change.
///
/// A value of this type is not verified: `VerifiedHead` is.
package struct Head: Equatable, Sendable {
  /// What a change did.
  package enum Change: Hashable, Sendable {
    /// Created the vault.
    case begin
    /// Saved the credential with this key tag; its row has this hash.
    case save(RecordID, row: Digest)
    /// Deleted the credential with this key tag.
    case delete(RecordID)
    /// Changed nothing: it only takes a sequence, so that a lost change can no longer be made.
    case nothing
    /// Replaced the roster, with the same generation.
    case roster
    /// Replaced the roster, and began a generation in which all rows are sealed again.
    case generation
    /// Changed nothing: it asks the writers to wait a moment, because a generation is to begin.
    case pause
    /// Changed nothing: it says that the roster of the next generation can be read.
    case announcement
  }

  /// The number of the change; 0 for the first one.
  package var sequence: UInt64
  /// The number of credentials.
  package var count: UInt64
  /// The random number that begins all revisions of the vault, in all generations.
  package var epoch: Epoch
  /// The sum of the hashes of all rows.
  package var sum: RowSum
  /// The hash of the roster.
  package var roster: Digest
  /// The hash of the head before; zeros for the first one.
  package var before: Digest
  /// When the change was made, by the clock of the machine that made it.
  package var time: Timestamp
  /// A random number, by which the machine recognises its own change.
  package var operation: RecordID
  /// What the change did.
  package var change: Change

  package init(
    sequence: UInt64, count: UInt64, epoch: Epoch, sum: RowSum, roster: Digest, before: Digest,
    time: Timestamp, operation: RecordID, change: Change
  ) {
    (self.sequence, self.count, self.epoch, self.sum) = (sequence, count, epoch, sum)
    (self.roster, self.before, self.time) = (roster, before, time)
    (self.operation, self.change) = (operation, change)
  }

  /// The size of the record in bytes.
  package static let size = 320
  static let sealedSize = 196 + SharedFormat.overhead
  static let signedSize = size - SigningKey.signatureSize
}

extension GenerationKeys {
  /// Seals and signs a head; the same bytes are its log entry.
  package func encode(_ head: Head, signedBy machine: MachineIdentity, nonce: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: SharedFormat.version)
    bytes += machine.id.bytes
    let associatedData = associatedData(of: .sharedHead)
    bytes += head.encoded().withBytes {
      store.headerKey.seal($0, for: associatedData.span, nonce: nonce)
    }
    return bytes + machine.signingKey.sign(signedHead(bytes).span)
  }

  /// Opens a head, and verifies that a writer of the roster that it names signed it.
  ///
  /// Throws `corrupt` if it names none of these rosters, or fails a check of its own numbers.
  func openHead(
    _ bytes: [UInt8], in rosters: [VerifiedRoster]
  ) throws(StorageError) -> VerifiedHead {
    try decoding("head of the vault") { () throws(StorageError) in
      var reader = ByteReader()
      try reader.version(of: "head of the vault", from: bytes.span)
      guard bytes.count == Head.size else { throw .malformedHead }
      let machine = try reader.id(from: bytes.span)
      let sealed = try reader.bytes(Head.sealedSize, from: bytes.span)
      let associatedData = associatedData(of: .sharedHead)
      guard let message = store.headerKey.open(sealed.span, for: associatedData.span) else {
        throw .forgedHead
      }
      let head = try message.withBytes { message throws(StorageError) in try Head(decoding: message)
      }
      guard let roster = rosters.first(where: { $0.digest == head.roster })?.roster,
        roster.generation == generation
      else { throw .untrusted("the head of the vault was made with an unknown roster") }
      let signature = Array(bytes.suffix(SigningKey.signatureSize))
      let signed = signedHead(Array(bytes.prefix(Head.signedSize)))
      guard let member = roster.member(machine), member.isWriter(at: head.time),
        isSignature(signature, of: signed.span, by: member.keys.signing)
      else { throw .forgedHead }
      return VerifiedHead(
        head: head, machine: machine, digest: Digest(of: bytes), generation: generation,
        rosterNumber: roster.number)
    }
  }

  private func signedHead(_ bytes: [UInt8]) -> [UInt8] {
    Array("kist shared head".utf8) + generationBytes(vault, generation) + bytes
  }
}

extension Head {
  fileprivate func encoded() -> WipedBytes {
    var bytes = WipedBytes(capacity: 196)
    bytes.append(littleEndian: sequence)
    bytes.append(littleEndian: count)
    bytes.append(littleEndian: epoch.number)
    bytes.append(sum)
    bytes.append(roster.bytes.span)
    bytes.append(before.bytes.span)
    bytes.append(littleEndian: time.secondsSinceEpoch)
    bytes.append(operation.bytes.span)
    let (kind, key, row) = change.parts
    bytes.append(littleEndian: kind)
    bytes.append(key.bytes.span)
    bytes.append(row.bytes.span)
    return bytes
  }

  fileprivate init(decoding bytes: Span<UInt8>) throws(StorageError) {
    var reader = ByteReader()
    sequence = try reader.integer(from: bytes)
    count = try reader.integer(from: bytes)
    epoch = Epoch(try reader.integer(from: bytes))
    sum = try RowSum(&reader, from: bytes)
    roster = try reader.digest(from: bytes)
    before = try reader.digest(from: bytes)
    time = try reader.timestamp(from: bytes)
    operation = try reader.id(from: bytes)
    let kind = try reader.integer(UInt32.self, from: bytes)
    let change = Change(
      kind: kind, key: try reader.id(from: bytes), row: try reader.digest(from: bytes))
    guard let change, count <= sequence, sequence <= Header.maximumSequence,
      (change == .begin) == (sequence == 0), (change == .begin) == (before == .none),
      count != 0 || sum == .zero
    else { throw .malformedHead }
    self.change = change
  }
}

extension Head.Change {
  private static let noKey = RecordID([UInt8](repeating: 0, count: RecordID.size))!

  /// The number of the kind, the key tag and the hash of the row; zeros where there is none.
  fileprivate var parts: (UInt32, RecordID, Digest) {
    switch self {
    case .begin: (0, Self.noKey, .none)
    case .save(let key, let row): (1, key, row)
    case .delete(let key): (2, key, .none)
    case .nothing: (3, Self.noKey, .none)
    case .roster: (4, Self.noKey, .none)
    case .generation: (5, Self.noKey, .none)
    case .pause: (6, Self.noKey, .none)
    case .announcement: (7, Self.noKey, .none)
    }
  }

  fileprivate init?(kind: UInt32, key: RecordID, row: Digest) {
    let changes: [Self] = [
      .begin, .save(key, row: row), .delete(key), .nothing, .roster, .generation, .pause,
      .announcement,
    ]
    guard kind < changes.count else { return nil }
    self = changes[Int(kind)]
    // Parts that the kind does not have must be zeros.
    guard parts.1 == key, parts.2 == row else { return nil }
  }
}

extension StorageError {
  fileprivate static let malformedHead = untrusted(
    "the head of the vault does not follow the format")
  fileprivate static let forgedHead = untrusted(
    "the head of the vault was not made by a writer of this vault")
}
