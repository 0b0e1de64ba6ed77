package import ArgumentParser
package import KistClient
package import KistWire

/// A command that asks kistd.
package protocol AsksKistd: AsyncParsableCommand {
  /// The options that every such command has.
  var common: CommonOptions { get }
}

/// A command that works on a storage, which the argument parser, who makes it, cannot inject.
///
/// What it works on is a matter of one of the `Requires…` below, whose `run()` passes the real one; a
/// test calls `perform` with its own.
package protocol StorageCommand: AsksKistd {
  /// What the command works on.
  associatedtype Storage

  /// Does the work.
  func perform(_ storage: Storage, _ terminal: Terminal) async throws(StorageError)
}

/// A command on credentials.
package protocol RequiresUserStorage: StorageCommand where Storage == UserStorage {
  /// Whether a person may be asked to unlock the storage.
  var prompting: PromptOptions { get }

  /// How many connections it asks over: several where it asks for much at once.
  static var connections: Int { get }
}

/// A command on the log of who asked for them.
package protocol RequiresAuditLog: StorageCommand where Storage == AuditLookup {}

/// A command on the keys that open it.
package protocol RequiresKeySlots: StorageCommand where Storage == KeySlots {}

/// A command on copies of all of them.
package protocol RequiresBackups: StorageCommand where Storage == Backups {
  /// Whether a person may be asked to unlock the storage.
  var prompting: PromptOptions { get }
}

/// A command on the changes of credentials.
package protocol RequiresWatch: StorageCommand where Storage == WatchCredentials {}

/// A command on the way in to them.
package protocol RequiresStorageAccess: StorageCommand where Storage == StorageAccess {}

extension RequiresUserStorage {
  package static var connections: Int { 1 }

  package func run() async throws {
    let path = try common.socketPath()
    let storage = UserStorage.remote(socketPath: path, connections: Self.connections)
    try await perform(storage, unlockedBy: .remote(socketPath: path), .live)
  }

  /// Does the work on a storage that a person who is there may unlock on the way.
  package func perform(
    _ storage: UserStorage, unlockedBy access: StorageAccess, _ terminal: Terminal
  ) async throws(StorageError) {
    let mayAsk = terminal.inputIsTerminal && !prompting.noPrompt
    try await perform(mayAsk ? storage.offeringToUnlock(access, at: terminal) : storage, terminal)
  }
}

extension RequiresAuditLog {
  package func run() async throws {
    try await perform(remoteAuditLog(socketPath: common.socketPath()), .live)
  }
}

extension RequiresKeySlots {
  package func run() async throws {
    try await perform(.remote(socketPath: common.socketPath()), .live)
  }
}

extension RequiresBackups {
  package func run() async throws {
    let path = try common.socketPath()
    try await perform(.remote(socketPath: path), unlockedBy: .remote(socketPath: path), .live)
  }

  /// Does the work; before a person types a passphrase for it, it is known that there can be a backup.
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
