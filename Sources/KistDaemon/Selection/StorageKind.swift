/// A kind of storage that kistd can open.
package enum StorageKind: String, Sendable, CaseIterable {
  /// The user's keyring, through libsecret.
  case libsecret
  /// The encrypted file.
  case encryptedFile = "encrypted-file"

  /// The storage in the words of a sentence.
  var name: String {
    switch self {
    case .libsecret: "the keyring"
    case .encryptedFile: "the encrypted file"
    }
  }

  /// The command that moves credentials there, for a hint; what is moved is not said by it alone.
  var migration: String {
    "`kistd migrate --to \(rawValue)`, with the same --data if one was given"
  }

  /// There are two.
  var other: StorageKind {
    switch self {
    case .libsecret: .encryptedFile
    case .encryptedFile: .libsecret
    }
  }
}
