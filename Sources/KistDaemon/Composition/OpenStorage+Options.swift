internal import Glibc
package import KistCore
package import KistFile
internal import KistSystem
package import Logging
private import Synchronization

extension OpenStorage {
  /// Selects a storage and opens it; logs the reason, and the creation of a store.
  ///
  /// - Parameters:
  ///   - progress: where the progress notes of encrypted files are kept.
  ///   - attempts: the passphrase attempts, which successive openings share.
  ///   - start: when kistd started; it may have opened the storage before.
  package static func open(
    _ options: Options, keySource: EncryptedFile.KeySource,
    progress: EncryptedFile.ProgressOptions? = nil,
    attempts: PassphraseAttempts = PassphraseAttempts(), environment: (String) -> String?,
    logger: Logger, since start: ContinuousClock.Instant = .now
  ) async throws(StorageError) -> OpenStorage {
    let pinFile = PinFile(path: options.pinFile)
    let written = try pinFile.read()
    removeUnfinished(of: pinFile.path)
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
        // If the pin file cannot be read, the keyring may be pinned.
        error.ofKeyring(isPinned: (try? pinFile.read() == nil) != true)
      }
      storage.credentials = storage.credentials.withDeadline(
        options.deadline, sleep: sleepUnwatched)
    case .encryptedFile:
      storage = try await .encryptedFile(
        options, pin, keySource: keySource, progress: progress, attempts: attempts, logger: logger)
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

  /// Opens the keyring, which only one kistd of a user serves at a time.
  static func keyring(
    _ options: Options, busAddress: String?
  ) throws(StorageError) -> OpenStorage {
    try makeDirectory(directory(of: options.keyringLock), hint: keyringLockHint)
    let lock = try ProcessLock(
      at: options.keyringLock, hint: keyringLockHint, orElse: StorageError.keyringServed)
    var storage = try openKeyring(busAddress: busAddress, deadline: options.deadline)
    storage.close = { [close = storage.close] in
      await close()
      lock.release()
    }
    return storage
  }

  /// Opens the encrypted file, and makes it if there is none and never was one.
  static func encryptedFile(
    _ options: Options, _ pin: Pin?, keySource: EncryptedFile.KeySource,
    progress: EncryptedFile.ProgressOptions?,
    attempts: PassphraseAttempts = PassphraseAttempts(), logger: Logger
  ) async throws(StorageError) -> OpenStorage {
    var file = options.ofEncryptedFile(keySource)
    file.storeID = pin?.kind == .encryptedFile ? pin?.storeID : nil
    file.deadline = options.deadline
    file.sleep = sleepUnwatched
    file.attempts = attempts
    file.progress = progress
    file.whenMade = { logger.notice("\(options.newStore)") }
    let storage = try await EncryptedFile.open(file)
    if try await storage.access.status().keysInRAM == false {
      logger.warning(
        "the keys may be written to swap: the limit of locked memory is too low",
        metadata: ["hint": "raise it to 1 MiB: LimitMEMLOCK=1M in the service, or ulimit -l 1024"])
    }
    return storage
  }
}

/// The hint for a keyring lock that cannot be opened.
let keyringLockHint = "see to the directory, or name another one in XDG_STATE_HOME"

extension StorageError {
  /// The error when another kistd of the user serves the keyring.
  static func keyringServed(by owner: String) -> StorageError {
    StorageError(
      .unavailable, "kistd serves the keyring already, \(owner)",
      hint:
        "use that one, at the socket that its log names, or stop it first; "
        + "`kistd --storage encrypted-file --data DIRECTORY` has a store beside it")
  }
}

extension EncryptedFile.KeySource {
  /// Reads the passphrase, if there is one, before this process opens its own descriptors.
  ///
  /// At a terminal, it asks for the passphrase of a new store twice.
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

/// A key source that can be used repeatedly, except a passphrase.
///
/// A passphrase is handed over once and then forgotten here.
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
  /// Checks the encrypted file, unless the keyring is pinned.
  init(_ options: Options, pin: Pin?) {
    self = pin?.kind == .libsecret ? .absent : EncryptedFile.presence(at: options.storePath)
  }
}

extension Options {
  /// The path of the encrypted file.
  var storePath: String { dataDirectory + "/credentials.db" }

  /// Returns the options of the encrypted file with this key source.
  func ofEncryptedFile(_ keySource: EncryptedFile.KeySource) -> EncryptedFile.Options {
    var file = EncryptedFile.Options(path: storePath, keySource: keySource)
    file.allowsWeakPassphrase = allowsWeakPassphrase
    return file
  }

  /// The log message about a new store, with what the user must know.
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
