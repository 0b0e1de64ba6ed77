package import KistCore
internal import KistSodium
internal import KistVault

/// What a machine knew of a vault when it wrote this note beside its copy.
///
/// The signature of the machine shows whether another program changed the note. The note may be
/// older than the copy: the machine then verifies the changes in between again.
package struct VaultNote: Sendable {
  /// The record of the roster that the head names.
  package let rosterRecord: [UInt8]
  /// The roster.
  package let roster: VerifiedRoster
  /// The record of the head.
  package let headRecord: [UInt8]
  /// When the machine last confirmed that its copy had the newest change, by its own clock.
  package let asOf: Timestamp

  /// Makes a note of a head and of its roster, both verified.
  package init(
    rosterRecord: [UInt8], roster: VerifiedRoster, headRecord: [UInt8], asOf: Timestamp
  ) {
    (self.rosterRecord, self.roster, self.headRecord) = (rosterRecord, roster, headRecord)
    self.asOf = asOf
  }

  private static let startSize = 4 + 8 + Head.size

  private static let signedText = Array("kist shared note".utf8)

  /// Encodes and signs the note.
  package func encoded(signedBy machine: MachineIdentity) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: SharedFormat.version)
    bytes.append(littleEndian: asOf.secondsSinceEpoch)
    bytes += headRecord + rosterRecord
    return bytes + machine.signingKey.sign((Self.signedText + bytes).span)
  }

  /// Decodes a note; throws `corrupt` unless this machine signed it.
  package init(_ bytes: [UInt8], signedBy machine: MachineIdentity) throws(StorageError) {
    let message = Array(bytes.dropLast(SigningKey.signatureSize))
    let signature = Array(bytes.suffix(SigningKey.signatureSize))
    guard message.count > Self.startSize,
      isSignature(signature, of: (Self.signedText + message).span, by: machine.keys.signing)
    else { throw .forgedNote }
    var reader = ByteReader()
    try reader.version(of: "note of the vault", from: message.span)
    asOf = try reader.timestamp(from: message.span)
    headRecord = Array(message[12..<Self.startSize])
    rosterRecord = Array(message[Self.startSize...])
    roster = try VerifiedRoster(noted: rosterRecord)
  }

  /// Opens the head of the note.
  package func openHead(_ keys: GenerationKeys) throws(StorageError) -> VerifiedHead {
    try keys.openHead(headRecord, in: [roster])
  }
}

extension StorageError {
  fileprivate static let forgedNote = untrusted(
    "the note beside the copy of the vault was not written by this machine")
}
