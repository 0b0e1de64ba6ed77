internal import KistCore
internal import KistFile
internal import KistSodium
internal import KistSystem
internal import KistVault

/// The file with the key that signs the roster of a vault, sealed with a passphrase.
///
/// It contains `kistadm1`, a random id of 16 bytes, and a key slot of an encrypted file with that id
/// as its store id. The wrapped key is the seed of the admin's key.
struct AdminKeyFile {
  let path: String

  private static let start = Array("kistadm1".utf8)
  private static let longest = 8192

  var exists: Bool { fileStatus(ofLink: path) != nil }

  /// Opens the file, or makes it with a new key where there is none.
  ///
  /// Throws `badRequest` if the passphrase of a new key is too short, unless that is allowed.
  func openOrMake(
    _ passphrase: Secret, allowsWeak: Bool
  ) throws(StorageError) -> SigningKey {
    if exists { return try open(passphrase) }
    guard allowsWeak || passphrase.count >= Limits.shortestNewPassphrase else {
      throw .badRequest(
        "the new passphrase has fewer than \(Limits.shortestNewPassphrase) bytes",
        hint: "take a longer one, or add --weak")
    }
    let seed = try GuardedKey.random()
    let id = randomBytes(16)
    let slot = try KeySlot(
      number: 1, passphrase: passphrase, cost: .standard, wrapping: seed, storeID: id,
      nonce: randomBytes(SymmetricKey.nonceSize))
    let bytes = Self.start + id + slot.encoded(storeID: id)
    guard try writeWhole(bytes.span, to: path, replacing: false) else {
      throw StorageError(
        .busy, "another program made \(path) meanwhile", hint: "check that file, and try again")
    }
    return try SigningKey(seed: seed)
  }

  /// Opens the file; throws `wrongPassphrase` if the passphrase does not.
  func open(_ passphrase: Secret) throws(StorageError) -> SigningKey {
    guard
      let bytes = try EncryptedFile.privateBytes(at: path, "admin key", limit: Self.longest)
    else {
      throw StorageError(
        .unavailable, "the admin key \(path) is missing",
        hint: "name the file that `kistd vault init` made with --admin-key")
    }
    guard bytes.starts(with: Self.start), bytes.count > Self.start.count + 16 else {
      throw .corrupt("\(path) is not an admin key of a vault")
    }
    let id = Array(bytes[Self.start.count..<Self.start.count + 16])
    let slot = try KeySlot(
      decoding: Array(bytes[(Self.start.count + 16)...]), number: 1, storeID: id)
    try KeySlot.checkTotalCost(of: [slot])
    do throws(StorageError) {
      return try SigningKey(seed: openSlot(with: passphrase, among: [slot], storeID: id).master)
    } catch {
      guard error.code == .wrongPassphrase else { throw error }
      throw StorageError(
        .wrongPassphrase, "the passphrase does not open the admin key \(path)",
        hint: "try again with the passphrase of that file; nothing was changed")
    }
  }
}
