package import ArgumentParser
package import KistClient
package import KistWire

/// A command that asks kistd.
package protocol AsksKistd: AsyncParsableCommand {
  /// The options that every such command has.
  var common: CommonOptions { get }
}

/// A command that works on a storage.
///
/// The argument parser creates the command, so it cannot inject one.
///
/// Each command adopts one of the `Requires…` protocols below, whose `run()` passes the real
/// storage. A test calls `perform` with its own storage.
package protocol StorageCommand: AsksKistd {
  /// The type of storage that the command works on.
  associatedtype Storage

  /// Performs the command.
  func perform(_ storage: Storage, _ terminal: Terminal) async throws(StorageError)
}

/// A command on credentials.
package protocol RequiresUserStorage: StorageCommand where Storage == UserStorage {
  /// Whether the user may be asked to unlock the storage.
  var prompting: PromptOptions { get }

  /// The number of connections; several for commands with many parallel requests.
  static var connections: Int { get }
}

/// A command on the audit log.
package protocol RequiresAuditLog: StorageCommand where Storage == AuditAccess {}

/// A command on the key slots.
package protocol RequiresKeySlots: StorageCommand where Storage == KeySlots {
  /// The key file that authorizes a change, unless a passphrase does.
  var key: KeyFileOption { get }
}

/// A command on backups of all credentials.
package protocol RequiresBackups: StorageCommand where Storage == Backups {
  /// Whether the user may be asked to unlock the storage.
  var prompting: PromptOptions { get }
}

/// A command on the changes of credentials.
package protocol RequiresWatch: StorageCommand where Storage == WatchCredentials {}

/// A command that shows, locks or unlocks the storage.
package protocol RequiresStorageAccess: StorageCommand where Storage == StorageAccess {}

extension RequiresUserStorage {
  package static var connections: Int { 1 }

  package func run() async throws {
    let path = try common.socketPath()
    let storage = UserStorage.remote(socketPath: path, connections: Self.connections)
    try await perform(storage, unlockedBy: .remote(socketPath: path), .live)
  }

  /// Performs the command; an interactive user may unlock the storage meanwhile.
  package func perform(
    _ storage: UserStorage, unlockedBy access: StorageAccess, _ terminal: Terminal
  ) async throws(StorageError) {
    let mayAsk = terminal.inputIsTerminal && !prompting.noPrompt
    try await perform(mayAsk ? storage.offeringToUnlock(access, at: terminal) : storage, terminal)
  }
}

extension RequiresAuditLog {
  package func run() async throws {
    try await perform(.remote(socketPath: common.socketPath()), .live)
  }
}

extension RequiresKeySlots {
  package func run() async throws {
    let slots = KeySlots.remote(socketPath: try common.socketPath())
    try await perform(slots.provedByKeyFile(key), .live)
  }
}

extension RequiresBackups {
  package func run() async throws {
    let path = try common.socketPath()
    try await perform(.remote(socketPath: path), unlockedBy: .remote(socketPath: path), .live)
  }

  /// Performs the command.
  ///
  /// Checks that a backup is possible before the user types a passphrase.
  package func perform(
    _ backups: Backups, unlockedBy access: StorageAccess, _ terminal: Terminal
  ) async throws(StorageError) {
    if terminal.inputIsTerminal {
      let status = try await access.status()
      if status.unlocksWith == .provider { throw .noBackups }
      if status.isLocked {
        let locked = StorageError.locked("the storage is locked")
        if prompting.noPrompt { throw locked }
        guard try await access.offerToUnlock(because: locked, at: terminal) else { throw locked }
      }
    }
    try await perform(backups, terminal)
  }
}

extension RequiresWatch {
  package func run() async throws {
    try await perform(.remote(socketPath: common.socketPath()), .live)
  }
}

extension RequiresStorageAccess {
  package func run() async throws {
    try await perform(.remote(socketPath: common.socketPath()), .live)
  }
}
