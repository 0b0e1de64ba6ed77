package import KistCluster
package import KistCore
internal import KistSodium
internal import KistVault

/// What a machine has seen: the last change in its copy.
///
/// The beacons of all machines show whether a change has reached all of them.
package struct Beacon: Hashable, Sendable {
  /// The head of that change.
  package var point: HeadPoint
  /// When the machine wrote the beacon, by its own clock.
  package var time: Timestamp

  package init(point: HeadPoint, time: Timestamp) { (self.point, self.time) = (point, time) }

  /// The size of the record in bytes.
  package static let size = 160
  fileprivate static let sealedSize = 48 + SharedFormat.overhead
}

extension GenerationKeys {
  /// Seals and signs a beacon of a machine.
  package func encode(
    _ beacon: Beacon, signedBy machine: MachineIdentity, nonce: [UInt8]
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: SharedFormat.version)
    bytes.append(littleEndian: generation)
    var message: [UInt8] = []
    message.append(littleEndian: beacon.point.sequence)
    message += beacon.point.digest.bytes
    message.append(littleEndian: beacon.time.secondsSinceEpoch)
    let associatedData = associatedData(of: .beacon, machine.id.bytes)
    bytes += beaconKey.seal(message.span, for: associatedData.span, nonce: nonce)
    return bytes + machine.signingKey.sign(signedBeacon(bytes, of: machine.id).span)
  }

  /// Opens the beacon of a machine; returns `nil` if it was written in another generation.
  ///
  /// Throws `corrupt` if this machine did not sign it, and `denied` if it is not a member.
  package func openBeacon(
    _ bytes: [UInt8], of machine: RecordID, in roster: VerifiedRoster
  ) throws(StorageError) -> Beacon? {
    guard let member = roster.roster.member(machine) else { throw .notMember }
    return try decoding("beacon of a machine") { () throws(StorageError) in
      var reader = ByteReader()
      try reader.version(of: "beacon of a machine", from: bytes.span)
      guard bytes.count == Beacon.size else { throw .forgedBeacon }
      guard try reader.integer(UInt32.self, from: bytes.span) == generation else { return nil }
      let sealed = try reader.bytes(Beacon.sealedSize, from: bytes.span)
      let signature = try reader.bytes(SigningKey.signatureSize, from: bytes.span)
      let signed = signedBeacon(Array(bytes.dropLast(SigningKey.signatureSize)), of: machine)
      let associatedData = associatedData(of: .beacon, machine.bytes)
      guard isSignature(signature, of: signed.span, by: member.keys.signing),
        let message = beaconKey.open(sealed.span, for: associatedData.span)
      else { throw .forgedBeacon }
      return try message.withBytes { message throws(StorageError) in
        var reader = ByteReader()
        return Beacon(
          point: HeadPoint(
            sequence: try reader.integer(from: message), digest: try reader.digest(from: message)),
          time: try reader.timestamp(from: message))
      }
    }
  }

  private func signedBeacon(_ bytes: [UInt8], of machine: RecordID) -> [UInt8] {
    Array("kist shared seen".utf8) + vault.bytes + machine.bytes + bytes
  }
}

extension StorageError {
  fileprivate static let forgedBeacon = untrusted(
    "the beacon of a machine was not made by this machine")
}
