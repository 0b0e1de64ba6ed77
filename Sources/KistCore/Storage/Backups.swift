/// Copies of all that is in a storage, sealed under a passphrase of their own, while it goes on being used.
public struct Backups: Sendable {
  /// Has a backup made of the storage as it is at one moment; answers when that is done, or a few seconds
  /// later how far it is, and is to be asked again then.
  ///
  /// It is kept until it is read to its end, the next one is made, or nobody asks for it any more.
  public var make: @Sendable (BackupRequest) async throws(StorageError) -> BackupProgress
  /// Reads a part of a backup that was made.
  public var read: @Sendable (BackupPart) async throws(StorageError) -> Secret

  /// Makes the two functions one value.
  public init(
    make: @escaping @Sendable (BackupRequest) async throws(StorageError) -> BackupProgress,
    read: @escaping @Sendable (BackupPart) async throws(StorageError) -> Secret
  ) {
    self.make = make
    self.read = read
  }

  /// Of a storage that cannot be asked: every request is answered with why.
  public static func failing(_ error: StorageError) -> Backups {
    Backups(
      make: { _ throws(StorageError) in throw error },
      read: { _ throws(StorageError) in throw error })
  }

  /// Of a storage that makes none.
  public static let none = failing(.noBackups)
}

extension StorageError {
  /// The storage makes no backups.
  package static let noBackups = StorageError(
    .badRequest, "this storage makes no backups: only the encrypted file does",
    hint: "a keyring is backed up as its own program says; or move the credentials to the "
      + "encrypted file, with `kistd migrate --to encrypted-file` once kistd is stopped")
}

extension Backups {
  /// Makes a backup of the storage as it is at one moment, however long that takes.
  ///
  /// - Parameter report: told, every few seconds, how many of how many credentials are copied.
  public func make(
    under passphrase: Secret, report: (_ done: Int, _ of: Int) -> Void = { _, _ in }
  ) async throws(StorageError) -> Backup {
    var progress = try await make(.begin(passphrase: passphrase))
    while case .copied(let done, let all, let id) = progress {
      report(done, all)
      progress = try await make(.goOn(id: id))
    }
    guard case .made(let backup) = progress else { throw .internal("a backup has no end") }
    return backup
  }
}

/// What is asked of the making of a backup.
public enum BackupRequest: Equatable, Sendable {
  /// That one is begun, which the passphrase opens.
  case begin(passphrase: Secret)
  /// How far the one is that was begun.
  case goOn(id: String)
}

/// How far a backup is.
public enum BackupProgress: Hashable, Sendable {
  /// It is being made: so many of so many credentials are copied.
  case copied(Int, of: Int, id: String)
  /// It can be read.
  case made(Backup)
}

/// A backup that was made and is to be read.
public struct Backup: Hashable, Sendable {
  /// Which one it is.
  public var id: String
  /// Bytes of the file.
  public var size: Int
  /// How many credentials are in it.
  public var count: Int

  /// Bytes of a part, but of the last one.
  public static let partSize = 512 << 10

  /// Puts the words together.
  public init(id: String, size: Int, count: Int) {
    self.id = id
    self.size = size
    self.count = count
  }
}

/// A part of a backup that is asked for.
public struct BackupPart: Hashable, Sendable {
  /// Of which one.
  public var id: String
  /// Where in the file it begins.
  public var offset: Int

  /// Names a part.
  public init(of id: String, from offset: Int) {
    self.id = id
    self.offset = offset
  }
}
