package import KistCore
internal import KistFile

extension OpenStorage {
  /// Opens the storage that was asked for.
  package static func open(_ options: Options) async throws(StorageError) -> OpenStorage {
    let keySource: EncryptedFile.KeySource
    switch options.keySource {
    case .file(let path): keySource = .keyFile(path: path)
    case .passphrase(let descriptor):
      keySource = .passphrase(try readPassphrase(from: descriptor))
    }
    return try await EncryptedFile.open(
      EncryptedFile.Options(
        path: options.dataDirectory + "/credentials.db", keySource: keySource,
        deadline: options.deadline))
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
