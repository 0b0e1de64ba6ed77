package import KistCore
package import KistFile

extension OpenStorage {
  /// Opens the storage that was asked for.
  package static func open(
    _ options: Options, keySource: EncryptedFile.KeySource
  ) async throws(StorageError) -> OpenStorage {
    try await EncryptedFile.open(
      EncryptedFile.Options(
        path: options.dataDirectory + "/credentials.db", keySource: keySource,
        deadline: options.deadline))
  }
}

extension EncryptedFile.KeySource {
  /// Reads the passphrase where there is one, before this process opens descriptors of its own.
  package init(_ source: Options.KeySource) throws(StorageError) {
    switch source {
    case .file(let path): self = .keyFile(path: path)
    case .passphrase(let descriptor): self = .passphrase(try readPassphrase(from: descriptor))
    }
  }
}

extension Options {
  /// Why that storage: a sentence for the log and for `status`.
  var reason: String {
    switch storage {
    case .auto: "encrypted file: the only storage in this build"
    case .encryptedFile: "encrypted file: asked for with --storage"
    }
  }
}
