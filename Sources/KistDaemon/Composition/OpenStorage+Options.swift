package import KistCore
package import KistFile
package import Logging

extension OpenStorage {
  /// Opens the storage that was asked for; the log says when a store was made.
  package static func open(
    _ options: Options, keySource: EncryptedFile.KeySource, logger: Logger
  ) async throws(StorageError) -> OpenStorage {
    let path = options.dataDirectory + "/credentials.db"
    return try await EncryptedFile.open(
      EncryptedFile.Options(
        path: path, keySource: keySource, deadline: options.deadline,
        whenMade: { logger.notice("\(options.newStore(at: path))") }))
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
  /// What a person must know who has a new store.
  fileprivate func newStore(at path: String) -> String {
    switch keySource {
    case .file(let key):
      "made a new store, \(path), which its key \(key) alone opens: keep a copy of the key elsewhere"
    case .passphrase:
      "made a new store, \(path), which its passphrase alone opens: it cannot be recovered"
    }
  }

  /// Why that storage: a sentence for the log and for `status`.
  var reason: String {
    switch storage {
    case .auto: "encrypted file: the only storage in this build"
    case .encryptedFile: "encrypted file: asked for with --storage"
    }
  }
}
