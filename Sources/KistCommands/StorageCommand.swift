internal import ArgumentParser
internal import KistClient
internal import KistWire

/// A command that asks kistd.
protocol AsksKistd: AsyncParsableCommand {
  var common: CommonOptions { get }
}

/// A command that works on a storage.
///
/// The argument parser creates the command, so its initializer cannot take the storage. Instead,
/// each command adopts one of the `Requires…` protocols below. Their `run()` calls `perform` with
/// the real storage. A test calls `perform` with another storage.
protocol StorageCommand: AsksKistd {
  associatedtype Storage

  func perform(_ storage: Storage, _ terminal: Terminal) async throws(StorageError)
}

/// A command on credentials.
protocol RequiresUserStorage: StorageCommand where Storage == UserStorage {
  /// Whether the user may be asked to unlock the storage.
  var prompting: PromptOptions { get }

  /// The number of connections, each with a thread, for parallel requests. With 0, there is one
  /// connection without a thread.
  static var threads: Int { get }
}

/// A command on the audit log.
protocol RequiresAuditLog: StorageCommand where Storage == AuditAccess {}

/// A command on the key slots.
protocol RequiresKeySlots: StorageCommand where Storage == KeySlots {
  /// The key file that permits a change if the user gives no passphrase.
  var key: KeyFileOption { get }
}

/// A command on backups of all credentials.
protocol RequiresBackups: StorageCommand where Storage == Backups {
  /// Whether the user may be asked to unlock the storage.
  var prompting: PromptOptions { get }
}

/// A command on the changes of credentials.
protocol RequiresWatch: StorageCommand where Storage == WatchCredentials {}

/// A command that shows, locks or unlocks the storage.
protocol RequiresStorageAccess: StorageCommand where Storage == StorageAccess {
  /// Whether the command starts a kistd if none listens.
  static var startsKistd: Bool { get }
}

extension RequiresUserStorage {
  static var threads: Int { 0 }

  func run() async throws {
    let kistd = try common.kistd(threads: Self.threads)
    if common.socket == nil { await Host.live.noteOtherStore(kistd.access, .live) }
    try await perform(kistd.credentials, unlockedBy: kistd.access, .live)
  }

  /// Performs the command.
  ///
  /// At a terminal, offers to unlock a locked storage.
  func perform(
    _ storage: UserStorage, unlockedBy access: StorageAccess, _ terminal: Terminal
  ) async throws(StorageError) {
    let mayAsk = terminal.canAsk && !prompting.noPrompt
    try await perform(mayAsk ? storage.offeringToUnlock(access, at: terminal) : storage, terminal)
  }
}

extension Host {
  /// Warns if kistd serves another store than the one that KISTD_DATA names.
  func noteOtherStore(_ access: StorageAccess, _ terminal: Terminal) async {
    guard value("KISTD_DATA") != nil, value("KIST_SOCKET") == nil,
      let path = try? await access.status().path, let note = otherStore(path)
    else { return }
    terminal.note(note.message, hint: note.hint)
  }
}

extension RequiresAuditLog {
  func run() async throws { try await perform(common.kistd().audit, .live) }
}

extension RequiresKeySlots {
  func run() async throws { try await perform(common.kistd().keySlots.provedByKeyFile(key), .live) }
}

extension RequiresBackups {
  func run() async throws {
    let kistd = try common.kistd()
    if common.socket == nil { await Host.live.noteOtherStore(kistd.access, .live) }
    try await perform(kistd.backups, unlockedBy: kistd.access, .live)
  }

  /// Checks that a backup is possible, before the user types or pipes in a passphrase.
  ///
  /// Then performs the command.
  func perform(
    _ backups: Backups, unlockedBy access: StorageAccess, _ terminal: Terminal
  ) async throws(StorageError) {
    let status = try await access.status()
    if status.unlocksWith == .provider { throw .noBackups }
    if status.isLocked, terminal.canAsk {
      let locked = StorageError.locked("the storage is locked")
      if prompting.noPrompt { throw locked }
      guard try await access.offerToUnlock(because: locked, at: terminal) else { throw locked }
    }
    try await perform(backups, terminal)
  }
}

extension RequiresWatch {
  func run() async throws { try await perform(common.kistd().watch, .live) }
}

extension RequiresStorageAccess {
  static var startsKistd: Bool { true }

  func run() async throws {
    try await perform(common.kistd(starting: Self.startsKistd).access, .live)
  }
}
