/// A kind of storage that kistd can open.
package enum StorageKind: String, Sendable, CaseIterable {
  /// The user's keyring, through libsecret.
  case libsecret
  /// The encrypted file.
  case encryptedFile = "encrypted-file"

  /// The name of the storage in a sentence.
  var name: String {
    switch self {
    case .libsecret: "the keyring"
    case .encryptedFile: "the encrypted file"
    }
  }

  /// The command that moves credentials there, for a hint; the sentence must name what it moves.
  var migration: String {
    "`kistd migrate --to \(rawValue)`, with the same --data if one was given"
  }

  /// The other of the two kinds.
  var other: StorageKind {
    switch self {
    case .libsecret: .encryptedFile
    case .encryptedFile: .libsecret
    }
  }
}
