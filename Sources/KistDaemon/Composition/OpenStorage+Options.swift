internal import Glibc
package import KistCore
package import KistFile
internal import KistSystem
package import Logging
private import Synchronization

extension OpenStorage {
  /// Chooses a storage and opens it; the log says why that one, and when a store was made.
  ///
  /// - Parameter start: when kistd was started, which may have opened it before.
  package static func open(
    _ options: Options, keySource: EncryptedFile.KeySource,
    environment: (String) -> String?, logger: Logger, since start: ContinuousClock.Instant = .now
  ) async throws(StorageError) -> OpenStorage {
    let pinFile = PinFile(path: options.pinFile)
    let written = try pinFile.read()
    let file = EncryptedFile.Presence(options, pin: written)
    let pin = written.map { pinFile.settled($0, on: file) }
    let busAddress = sessionBusAddress(environment: environment, isSocket: isSocket)
    let selection = try Selection.select(
      asked: options.storage, pin: pin,
      keyring: pin == nil && options.storage == nil
        ? await probeKeyring(busAddress: busAddress) : nil,
      file: file)
    var storage: OpenStorage
    switch selection.kind {
    case .libsecret:
      storage = try .keyring(options, busAddress: busAddress).mappingErrors { error in
        // What cannot be read may say so.
        error.ofKeyring(isPinned: (try? pinFile.read() == nil) != true)
      }
      storage.credentials = storage.credentials.withDeadline(
        options.deadline, sleep: sleepUnwatched)
    case .encryptedFile:
      storage = try await .encryptedFile(options, pin, keySource: keySource, logger: logger)
      if let time = options.lockAfter { storage = storage.lockingWhenIdle(after: time) }
    }
    if pin == nil {
      let new = Pin(kind: selection.kind, storeID: storage.id)
      storage.credentials = storage.credentials.pinning { () throws(StorageError) in
        try pinFile.write(new, insteadOf: nil)
      }
    }
    storage.reason = selection.reason
    storage.access = storage.access.reporting(reason: selection.reason, since: start)
    return storage
  }

  /// The keyring, which one kistd of a user serves at a time.
  static func keyring(
    _ options: Options, busAddress: String?
  ) throws(StorageError) -> OpenStorage {
    let hint = "see to the directory, or name another one in XDG_STATE_HOME"
    try makeDirectory(directory(of: options.keyringLock), hint: hint)
    let lock = try ProcessLock(
      at: options.keyringLock, hint: hint, orElse: StorageError.keyringServed)
    var storage = try openKeyring(busAddress: busAddress, deadline: options.deadline)
    storage.close = { [close = storage.close] in
      await close()
      lock.release()
    }
    return storage
  }

  /// The encrypted file, which is made where there is none and none was before.
  static func encryptedFile(
    _ options: Options, _ pin: Pin?, keySource: EncryptedFile.KeySource, logger: Logger
  ) async throws(StorageError) -> OpenStorage {
    try await EncryptedFile.open(
      EncryptedFile.Options(
        path: options.storePath, storeID: pin?.kind == .encryptedFile ? pin?.storeID : nil,
        keySource: keySource, deadline: options.deadline,
        sleep: sleepUnwatched,
        whenMade: { logger.notice("\(options.newStore)") }))
  }
}

extension StorageError {
  /// Another kistd of the user has the keyring.
  static func keyringServed(by owner: String) -> StorageError {
    StorageError(
      .unavailable, "kistd serves the keyring already, \(owner)",
      hint:
        "use that one, at the socket that its log names, or stop it first; "
        + "`kistd --storage encrypted-file --data DIRECTORY` has a store beside it")
  }
}

extension EncryptedFile.KeySource {
  /// Reads the passphrase where there is one, before this process opens descriptors of its own.
  ///
  /// Of a person, at a terminal, it is asked twice where it is to open a store that is made.
  package init(_ options: Options) throws(StorageError) {
    switch options.keySource {
    case .file(let path): self = .keyFile(path: path)
    case .passphraseFile(let path): self = .passphraseFile(path: path)
    case .passphrase(let descriptor):
      let isNew =
        isatty(descriptor) == 1 && EncryptedFile.presence(at: options.storePath) == .absent
      self = .passphrase(try readPassphrase(isNew ? .newOfStore : .ofStore, from: descriptor))
    }
  }
}

/// A key source that is used again and again, but for a passphrase, which is handed over once and
/// then forgotten here.
final class KeySourceForOnce: Sendable {
  private let source: Mutex<EncryptedFile.KeySource>

  init(_ source: EncryptedFile.KeySource) { self.source = Mutex(source) }

  func take() -> EncryptedFile.KeySource {
    source.withLock { source in
      defer { if case .passphrase = source { source = .none } }
      return source
    }
  }
}

extension EncryptedFile.Presence {
  /// Looks at the encrypted file, where it makes a difference.
  init(_ options: Options, pin: Pin?) {
    self = pin?.kind == .libsecret ? .absent : EncryptedFile.presence(at: options.storePath)
  }
}

extension Options {
  /// The encrypted file.
  var storePath: String { dataDirectory + "/credentials.db" }

  /// What a person must know who has a new store.
  fileprivate var newStore: String {
    switch keySource {
    case .file(let key):
      "made a new store, \(storePath), which its key \(key) alone opens: keep a copy of the key "
        + "elsewhere"
    case .passphraseFile, .passphrase:
      "made a new store, \(storePath), which its passphrase alone opens: it cannot be recovered"
    }
  }
}
