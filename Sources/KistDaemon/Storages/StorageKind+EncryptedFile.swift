internal import ArgumentParser
internal import Glibc
internal import KistCore
internal import KistFile
internal import KistSystem
internal import Logging
private import Synchronization

extension StorageKind {
  static let encryptedFile = StorageKind(
    rawValue: "encrypted-file", label: "encrypted file", isExternal: false,
    isChosenAutomatically: true,
    identity: Identity(missing: .storeIsGone, replaced: .anotherStore),
    files: { options in
      switch options.keySource {
      case .file(let path): Files(store: [options.storePath, path])
      case .passphraseFile(let path): Files(store: [options.storePath], read: [path])
      case .passphrase: Files(store: [options.storePath])
      }
    },
    probe: { context in
      switch EncryptedFile.presence(at: context.options.storePath) {
      case .absent: .open(hasCredentials: false)
      case .store(let id, let hasCredentials): .open(hasCredentials: hasCredentials, id: id)
      case .unreadable(let error): .unusable(error)
      }
    },
    check: { context throws(StorageError) in
      var file = context.options.ofEncryptedFile(context.options.keySource.unread)
      file.progress = context.progress
      try EncryptedFile.checkPlaces(file)
      try EncryptedFile.checkOpening(file)
    },
    open: openEncryptedFile,
    served: { storage, options in
      options.lockAfter.map(storage.lockingWhenIdle) ?? storage
    },
    countLaterData: { context throws(StorageError) in
      try EncryptedFile.examine(path: context.options.storePath, keySource: context.keySource)
        .extended
    },
    whenLocked: { error, status, context in
      guard error.code == .locked, status.unlocksWith != .unknown else { return error }
      if status.unlocksWith == .passphrase { return error.withoutKistd }
      if case .keyFile = context.keySource {
        return .locked(error.message, hint: "name the store's key file with --key-file")
      }
      return .locked(error.message, hint: "correct the passphrase file, and run the command again")
    })
}

private func openEncryptedFile(
  _ context: StorageContext, _ pin: Pin?
) async throws(StorageError) -> OpenStorage {
  let (options, logger) = (context.options, context.logger)
  var file = options.ofEncryptedFile(context.keySource)
  file.storeID = pin?.kind == .encryptedFile ? pin?.storeID : nil
  file.deadline = options.deadline
  file.sleep = sleepUnwatched
  file.attempts = context.attempts
  file.progress = context.progress
  // With a command, kistd prints only warnings. The user may expect credentials there, but the directory
  // is misspelled or was not named.
  let level: Logger.Level = options.command.isEmpty ? .notice : .warning
  file.whenMade = { logger.log(level: level, "\(options.newStore)") }
  file.whenLogKept = {
    logger.warning("\($0.message)", metadata: ["hint": "\($0.hint ?? "")"])
  }
  let storage = try await EncryptedFile.open(file)
  if try await storage.access.status().keysInRAM == false {
    let hint =
      "raise the limit to 1 MiB: LimitMEMLOCK=1M in the service, or ulimit -l 1024; some containers "
      + "forbid it at any limit"
    logger.warning(
      "the keys may be written to swap: the system does not let kistd lock memory",
      metadata: ["hint": "\(hint)"])
  }
  return storage
}

struct StorePlace: ParsableArguments {
  @Option(help: .value("directory", "The directory of the store; by default $XDG_DATA_HOME/kist."))
  var data: String?

  @Option(help: .value("path", "The file of the store's key; by default $XDG_STATE_HOME/kist/key."))
  var keyFile: String?
}

struct StoreOptions: ParsableArguments {
  @OptionGroup var place: StorePlace

  @Option(
    help: .value(
      "number", "Read the store's passphrase from this descriptor, instead of a key file."))
  var passphraseFd: String?
}

struct WeakOption: ParsableArguments {
  @Flag(help: "Allow a new passphrase of fewer than \(Limits.shortestNewPassphrase) bytes.")
  var weak = false
}

extension Options {
  var storePath: String { dataDirectory + "/credentials.db" }

  func ofEncryptedFile(_ keySource: EncryptedFile.KeySource) -> EncryptedFile.Options {
    var file = EncryptedFile.Options(path: storePath, keySource: keySource)
    file.allowsWeakPassphrase = allowsWeakPassphrase
    return file
  }

  /// Refuses a passphrase that is too short for a first start, before a directory is made.
  func checkFirstPassphrase(_ source: EncryptedFile.KeySource) throws(StorageError) {
    guard storage == .encryptedFile, !isFile(pinFile), !isFile(storePath) else { return }
    do throws(StorageError) { try ofEncryptedFile(source).checkFirstPassphrase() } catch {
      // The user may have expected a store there.
      throw StorageError(
        error.code, "kistd found no store at \(storePath), and \(error.message)",
        hint: error.hint, outcome: error.outcome)
    }
  }

  /// The log message about a new store, with what the user must know.
  fileprivate var newStore: String {
    switch keySource {
    case .file(let key):
      "made a new store, \(storePath), which opens only with the key file \(key): keep a copy of "
        + "the key elsewhere"
    case .passphraseFile, .passphrase:
      "made a new store, \(storePath), which opens only with its passphrase: do not lose it"
    }
  }
}

extension Options.KeySource {
  /// The key source before a passphrase is read from a descriptor: `.none` in that case.
  var unread: EncryptedFile.KeySource {
    switch self {
    case .file(let path): .keyFile(path: path)
    case .passphraseFile(let path): .passphraseFile(path: path)
    case .passphrase: .none
    }
  }
}

extension EncryptedFile.KeySource {
  /// Reads the passphrase, if any, before this process opens its own descriptors.
  init(_ options: Options) throws(StorageError) {
    self = options.keySource.unread
    guard let descriptor = options.keySource.descriptor else { return }
    let isNew = isatty(descriptor) == 1 && EncryptedFile.presence(at: options.storePath) == .absent
    self = .passphrase(try readPassphrase(isNew ? .newOfStore : .ofStore, from: descriptor))
  }
}

extension EncryptedFile.ProgressOptions {
  /// Creates the options of the progress notes; `nil` without a home directory.
  ///
  /// kistd accepts an older store once. If another older store replaces it later, kistd refuses that.
  init?(_ options: Options, logger: Logger) {
    guard let directory = options.progressDirectory else { return nil }
    let acceptance = TakenOnce(options.acceptsRollback, then: false)
    self.init(
      directory: directory, acceptsRollback: acceptance.take,
      report: {
        // Where no note can be, none was lost. A job in CI would get this line with each command.
        let isExpected =
          !options.command.isEmpty && fileStatus(of: directory) == nil && errno == ENOENT
        logger.log(
          level: isExpected ? .info : .warning,
          "kistd cannot use its progress note, so it cannot detect an older store",
          metadata: ["reason": "\($0)"])
      },
      reportAccepted: {
        logger.warning(
          "opened an older store, which --accept-rollback allows", metadata: ["reason": "\($0)"])
      })
  }
}

/// A value for one use, after which `take` returns `next`; so kistd forgets a passphrase after use.
final class TakenOnce<Value: Sendable>: Sendable {
  private let value: Mutex<Value>
  private let next: Value

  init(_ value: Value, then next: Value) {
    self.value = Mutex(value)
    self.next = next
  }

  func take() -> Value {
    value.withLock { value in
      defer { value = next }
      return value
    }
  }
}
