package import KistCore

extension EncryptedFile {
  /// Refuses a file with a key or a passphrase that would not be taken; where there is none, that is
  /// for the store to say.
  package static func checkFile(of source: KeySource) throws(StorageError) {
    switch source {
    case .keyFile(let path): _ = try KeyFile.read(path)
    case .passphraseFile(let path): _ = try PassphraseFile.read(path)
    case .passphrase, .none: break
    }
  }
}
