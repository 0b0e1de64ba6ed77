/// Copies of a whole storage, sealed under their own passphrase, made while the storage is in use.
public struct Backups: Sendable {
  /// Makes a backup of the storage as it is at one moment.
  ///
  /// Returns when the backup is done, or after a few seconds with the progress so far; then call it
  /// again.
  ///
  /// The backup is kept until it is read to its end, another one is made, or the caller stops
  /// asking for it.
  public var make: @Sendable (BackupRequest) async throws(StorageError) -> BackupProgress
  /// Reads a part of a finished backup.
  public var read: @Sendable (BackupPart) async throws(StorageError) -> Secret

  /// Makes a value from the two functions.
  public init(
    make: @escaping @Sendable (BackupRequest) async throws(StorageError) -> BackupProgress,
    read: @escaping @Sendable (BackupPart) async throws(StorageError) -> Secret
  ) {
    self.make = make
    self.read = read
  }

  /// Returns a value whose functions throw this error, for a storage that cannot be reached.
  public static func failing(_ error: StorageError) -> Backups {
    Backups(
      make: { _ throws(StorageError) in throw error },
      read: { _ throws(StorageError) in throw error })
  }

  /// The value for a storage that makes no backups.
  public static let none = failing(.noBackups)
}

extension StorageError {
  /// The error of a storage that makes no backups.
  package static let noBackups = StorageError(
    .badRequest, "kist can back up only the encrypted file, and not this storage",
    hint: "back up a keyring with its own program; or move the credentials to the "
      + "encrypted file, with `kistd migrate --to encrypted-file` once kistd is stopped")
}

extension Backups {
  /// The number of polls, each of a few seconds, after which a backup without progress has failed.
  private static let pollsWithoutProgress = 100

  /// Makes a backup of the storage as it is at one moment, and waits until it is done.
  ///
  /// - Parameters:
  ///   - allowsWeak: whether the passphrase may have fewer than 8 bytes.
  ///   - report: called every few seconds with the number of copied credentials and the total.
  public func make(
    under passphrase: Secret, allowsWeak: Bool = false,
    report: (_ done: Int, _ of: Int) -> Void = { _, _ in }
  ) async throws(StorageError) -> Backup {
    var progress = try await make(.begin(passphrase: passphrase, allowsWeak: allowsWeak))
    var (last, polls) = (-1, 0)
    while case .copied(let done, let all, let id) = progress {
      polls = done > last ? 0 : polls + 1
      guard done >= last, done <= all, polls < Self.pollsWithoutProgress else {
        throw .internal("the backup makes no progress")
      }
      last = done
      report(done, all)
      progress = try await make(.poll(id: id))
    }
    guard case .made(let backup) = progress else { throw .internal("a backup has no end") }
    guard backup.size > 0, backup.count >= 0 else {
      throw .internal("the backup has an impossible size")
    }
    return backup
  }
}

/// A request to make a backup.
public enum BackupRequest: Equatable, Sendable {
  /// Begins a backup that this passphrase opens; a weak passphrase has fewer than 8 bytes.
  case begin(passphrase: Secret, allowsWeak: Bool = false)
  /// Asks for the progress of a backup that was begun.
  case poll(id: String)
}

/// The progress of a backup.
public enum BackupProgress: Hashable, Sendable {
  /// The backup is being made; the numbers are the copied credentials and the total.
  case copied(Int, of: Int, id: String)
  /// The backup is finished and can be read.
  case made(Backup)
}

/// A finished backup that can be read.
public struct Backup: Hashable, Sendable {
  /// The identifier of the backup.
  public var id: String
  /// The size of the file in bytes.
  public var size: Int
  /// The number of credentials in the backup.
  public var count: Int

  /// The size in bytes of each part except the last.
  public static let partSize = 512 << 10

  /// Makes a backup from its fields.
  public init(id: String, size: Int, count: Int) {
    self.id = id
    self.size = size
    self.count = count
  }
}

/// A request for a part of a backup.
public struct BackupPart: Hashable, Sendable {
  /// The identifier of the backup.
  public var id: String
  /// The offset in the file at which the part begins.
  public var offset: Int

  /// Makes a request for the part that begins at an offset.
  public init(of id: String, from offset: Int) {
    self.id = id
    self.offset = offset
  }
}
