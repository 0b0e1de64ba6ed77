package import KistCore

extension EncryptedFile {
  /// Throws where a key file or passphrase file would be refused.
  ///
  /// A missing file is accepted here; opening the store reports it.
  package static func checkFile(of source: KeySource) throws(StorageError) {
    switch source {
    case .keyFile(let path): _ = try KeyFile.read(path)
    case .passphraseFile(let path): _ = try PassphraseFile.read(path)
    case .passphrase, .none: break
    }
  }
}
