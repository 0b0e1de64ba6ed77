internal import KistCluster
internal import KistCore
internal import KistReplica
internal import KistShared
internal import KistSodium

/// Public data that a user copies from one machine to another: one word, with a checksum.
///
/// The word is a prefix, and the bytes and four bytes of their hash in hexadecimal digits.
struct CopiedWord {
  private let prefix: String
  private let count: Int

  /// The public keys of a machine.
  static let machineKeys = CopiedWord(prefix: "kistm1", count: 64)
  /// The line with which a machine joins a vault.
  static let invitation = CopiedWord(prefix: "kistv1", count: 16 + 32 + 8 + 8 + Digest.size)

  private static let checksumSize = 4

  func text(_ bytes: [UInt8]) -> String {
    precondition(bytes.count == count, "a word has a fixed length")
    return prefix
      + (bytes + checksum(of: bytes)).map(\.hexadecimal).joined()
  }

  /// Returns the bytes of a word; `nil` if it was not copied exactly.
  func bytes(of text: String) -> [UInt8]? {
    let digits = Array(text.utf8.dropFirst(prefix.utf8.count))
    guard text.hasPrefix(prefix), digits.count == 2 * (count + Self.checksumSize) else {
      return nil
    }
    let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
      UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
    }
    let data = Array(bytes.prefix(count))
    // Rejects other spellings, such as capitals.
    guard data.count == count, self.text(data) == text else { return nil }
    return data
  }

  private func checksum(of bytes: [UInt8]) -> [UInt8] {
    Array(blake2b((Array(prefix.utf8) + bytes).span, count: 16).prefix(Self.checksumSize))
  }
}

extension MachineKeys {
  var word: String { CopiedWord.machineKeys.text(signing + box) }

  init(word: String) throws(StorageError) {
    guard let bytes = CopiedWord.machineKeys.bytes(of: word) else {
      throw .badRequest(
        "these are not the public keys of a machine",
        hint: "copy the whole word that `kistd vault identity` printed on that machine")
    }
    self.init(signing: Array(bytes[..<32]), box: Array(bytes[32...]))
  }
}

extension SharedVault.Invitation {
  var word: String {
    CopiedWord.invitation.text(
      vault.bytes + admin + Self.bytes(roster) + Self.bytes(head.sequence) + head.digest.bytes)
  }

  init(word: String) throws(StorageError) {
    guard let bytes = CopiedWord.invitation.bytes(of: word),
      let vault = RecordID(Array(bytes[..<16]))
    else {
      throw .badRequest(
        "this is not the line with which a machine joins a vault",
        hint: "copy the whole line that `kistd vault` init, add or recovery printed")
    }
    self.init(
      vault: vault, admin: Array(bytes[16..<48]), roster: Self.number(bytes[48..<56]),
      head: HeadPoint(
        sequence: Self.number(bytes[56..<64]), digest: Digest(copying: Array(bytes[64...]))))
  }

  private static func bytes(_ number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }
}
