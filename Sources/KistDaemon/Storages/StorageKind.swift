internal import KistCore
internal import KistFile
internal import Logging

/// A kind of storage, with everything that kistd knows about it.
///
/// `all` is the table of storages. Code for only one storage is in the source file of its row.
struct StorageKind: Sendable {
  /// The name in options, in the pin and in `status`.
  let rawValue: String
  /// The word for the storage.
  let label: String
  /// The word with its article.
  var name: String { "the \(label)" }
  /// Whether another program provides the storage.
  ///
  /// Then the user has only one such storage, whatever `--data` says. It may be out of reach, and
  /// may have credentials that kist did not save.
  let isExternal: Bool
  /// Whether kistd may choose the storage if no option names one.
  let isChosenAutomatically: Bool
  /// The errors if the pinned store is missing or was replaced; `nil` if there is only one storage
  /// of the kind, which has no id.
  let identity: Identity?
  /// Returns the files that a running kistd needs.
  let files: @Sendable (Options) -> Files
  /// Determines the state of the storage, without a prompt and without a write.
  let probe: @Sendable (StorageContext) async -> StorageProbe
  /// Throws the error with which opening would fail, if it can be found without opening; `locked` if
  /// the storage would open, but locked.
  let check: @Sendable (StorageContext) throws(StorageError) -> Void
  /// Opens the storage, and creates it if it has never existed.
  let open: @Sendable (StorageContext, Pin?) async throws(StorageError) -> OpenStorage
  /// Returns the storage with the behaviour that options such as `--lock-after` set for serving.
  let served: @Sendable (OpenStorage, Options) -> OpenStorage
  /// Counts credentials with data of a later kist version; `nil` if the storage cannot keep any.
  let countLaterData: (@Sendable (StorageContext) throws(StorageError) -> Int)?
  /// Returns the error of a command that cannot unlock the storage.
  let whenLocked: @Sendable (StorageError, StorageStatus, StorageContext) -> StorageError

  /// The errors if the store that the pin names is missing or was replaced.
  struct Identity: Sendable {
    var missing: StorageError
    var replaced: StorageError
  }

  /// The files that a storage needs while kistd is confined.
  struct Files {
    /// Files in directories that kistd makes at each start.
    var own: [String] = []
    /// Files in directories that kistd makes only at the first start.
    var store: [String] = []
    /// Files in directories that kistd only reads.
    var read: [String] = []
  }
}

extension StorageKind: Equatable {
  /// The table of storages; kistd prefers an earlier one.
  static let all: [StorageKind] = [.libsecret, .encryptedFile, .shared]

  init?(rawValue: String) {
    guard let kind = Self.all.first(where: { $0.rawValue == rawValue }) else { return nil }
    self = kind
  }

  static let namesInHelp = listed(
    all.map { $0.isExternal ? "\($0.rawValue) (\($0.name))" : $0.rawValue }, "or")

  /// The values of `--storage`.
  static let namesOfOption = ["auto"] + all.map(\.rawValue)

  /// The command that moves credentials to this storage, for a hint that says what is moved.
  var migration: String {
    let from = isChosenAutomatically ? "" : "--from KIND "
    return "`kistd migrate \(from)--to \(rawValue)`, with the same --data if one was given"
  }

  static func == (left: Self, right: Self) -> Bool { left.rawValue == right.rawValue }
}

struct StorageContext: Sendable {
  var options: Options
  var keySource = EncryptedFile.KeySource.none
  var progress: EncryptedFile.ProgressOptions?
  /// The passphrase attempts, which successive openings share.
  var attempts = PassphraseAttempts()
  /// The failures to make a new copy of a shared vault, which successive openings share.
  var renewals = CopyRenewals()
  /// Called when an open storage loses its connection to another program.
  var whenCutOff: @Sendable () -> Void = {}
  /// Called when the storage must be opened again, as after SIGHUP.
  var whenOutdated: @Sendable () -> Void = {}
  var environment: @Sendable (String) -> String?
  var logger: Logger
}

/// Joins words as in `a, b or c`.
func listed(_ words: [String], _ last: String) -> String {
  guard words.count > 1, let end = words.last else { return words.joined() }
  return words.dropLast().joined(separator: ", ") + " \(last) \(end)"
}
