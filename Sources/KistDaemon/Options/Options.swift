package import Logging

/// The options of kistd, read from flags and the environment.
package struct Options: Sendable, Equatable {
  /// The source of the store's key.
  package enum KeySource: Sendable, Equatable {
    case file(path: String)
    /// A file with a passphrase.
    case passphraseFile(path: String)
    /// A descriptor to read a passphrase from.
    case passphrase(descriptor: CInt)

    /// The number of the descriptor, if the source is a descriptor.
    var descriptor: CInt? { if case .passphrase(let number) = self { number } else { nil } }
  }

  /// The path of the socket, if one was given.
  package var socket: String?
  /// The storage to open; `nil` to select one automatically.
  package var storage: StorageKind?
  /// The directory of the store.
  package var dataDirectory: String
  package var keySource: KeySource
  /// Whether a new passphrase of the store may have fewer than 8 bytes.
  package var allowsWeakPassphrase: Bool
  /// The file that records where credentials are kept.
  package var pinFile: String
  /// The same file for a kistd without `--data`.
  package var usualPinFile: String
  /// The file that is locked while the keyring is served; one for each user, whatever `--data`
  /// says.
  package var keyringLock: String
  /// The directory of the progress notes of stores; `nil` without a home directory.
  package var progressDirectory: String?
  /// Whether to open an encrypted file that is older than its progress note.
  package var acceptsRollback: Bool
  /// The file of the audit log.
  package var auditFile: String
  /// The number of bytes of the audit log to keep; 0 for no log.
  package var auditSize: Int
  package var maximumConnections: Int
  /// The time without a connected client after which kistd ends; `nil` for never.
  package var idleExit: Duration?
  /// The time without a credential request after which the encrypted file is locked; `nil` for
  /// never.
  package var lockAfter: Duration?
  package var deadline: Duration
  package var logLevel: Logger.Level
  /// The command to serve for; empty to serve until kistd is stopped.
  package var command: [String]
}
