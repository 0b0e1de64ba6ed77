package import KistCluster
package import KistCore
package import KistSodium

/// The public keys of a machine, and its id.
package struct MachineKeys: Hashable, Sendable {
  /// The key that verifies what the machine signs (Ed25519).
  package let signing: [UInt8]
  /// The key for which the master key is sealed (X25519).
  package let box: [UInt8]
  /// The id: a hash of both keys.
  package let id: RecordID

  /// Makes the id of two keys, each of 32 bytes.
  package init(signing: [UInt8], box: [UInt8]) {
    precondition(signing.count == 32 && box.count == 32, "a public key has 32 bytes")
    (self.signing, self.box) = (signing, box)
    let bytes = Array("kist shared machine".utf8) + signing + box
    // The hash has as many bytes as an id.
    id = RecordID(blake2b(bytes.span, count: RecordID.size))!
  }
}

/// The secret keys of this machine.
package final class MachineIdentity: Sendable {
  /// The key that signs what the machine writes.
  package let signingKey: SigningKey
  let boxKey: BoxKey
  /// The public keys.
  package let keys: MachineKeys

  /// Derives the keys from the seed of the machine, which is in a file or a systemd credential.
  package init(seed: GuardedKey) throws(StorageError) {
    func derive(_ id: UInt64) throws(StorageError) -> GuardedKey {
      try GuardedKey(derivedFrom: seed, id: id, context: "kistmach")
    }
    signingKey = try SigningKey(seed: derive(1))
    boxKey = try BoxKey(seed: derive(2))
    keys = MachineKeys(signing: signingKey.publicKey, box: boxKey.publicKey)
  }

  /// The id of this machine.
  package var id: RecordID { keys.id }
}
