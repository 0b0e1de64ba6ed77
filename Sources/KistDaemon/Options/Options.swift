package import Logging

/// What kistd was asked to do: a value, read from flags and the environment.
package struct Options: Sendable, Equatable {
  /// Where the store's key comes from.
  package enum KeySource: Sendable, Equatable {
    case file(path: String)
    /// A file with a passphrase.
    case passphraseFile(path: String)
    /// A descriptor to read a passphrase from.
    case passphrase(descriptor: CInt)

    /// The descriptor, where it is one.
    var descriptor: CInt? { if case .passphrase(let number) = self { number } else { nil } }
  }

  /// The path of the socket, where one was given.
  package var socket: String?
  /// Which storage to open; the one that is found to be right where there is `nil`.
  package var storage: StorageKind?
  /// The directory of the store.
  package var dataDirectory: String
  package var keySource: KeySource
  /// The file that says where credentials are kept.
  package var pinFile: String
  /// That file of a kistd without `--data`.
  package var usualPinFile: String
  /// The file that is locked while the keyring is served: of which a user has one, whatever `--data`
  /// says.
  package var keyringLock: String
  /// The file of the audit log.
  package var auditFile: String
  /// The bytes of it that are kept; 0 for no log.
  package var auditSize: Int
  package var maximumConnections: Int
  /// How long nobody is connected before kistd ends; for ever where there is `nil`.
  package var idleExit: Duration?
  /// How long no credential is asked for before the encrypted file is locked; never where there is
  /// `nil`.
  package var lockAfter: Duration?
  package var deadline: Duration
  package var logLevel: Logger.Level
  /// The command to serve for; empty to serve until told to stop.
  package var command: [String]
}
