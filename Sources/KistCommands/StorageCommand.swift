package import ArgumentParser
package import KistClient

/// A command that works on a storage, which the argument parser, who makes it, cannot inject.
///
/// What it works on is a matter of `RequiresUserStorage` or `RequiresStorageAccess`, whose `run()`
/// passes the real one; a test calls `perform` with its own.
package protocol StorageCommand: AsyncParsableCommand {
  /// What the command works on.
  associatedtype Storage

  /// The options that every command has.
  var common: CommonOptions { get }

  /// Does the work.
  func perform(_ storage: Storage, _ terminal: Terminal) async throws(StorageError)
}

/// A command on credentials.
package protocol RequiresUserStorage: StorageCommand where Storage == UserStorage {}

/// A command on the way in to them.
package protocol RequiresStorageAccess: StorageCommand where Storage == StorageAccess {}

extension RequiresUserStorage {
  package func run() async throws {
    try await perform(.remote(socketPath: common.socketPath()), .live)
  }
}

extension RequiresStorageAccess {
  package func run() async throws {
    try await perform(.remote(socketPath: common.socketPath()), .live)
  }
}
