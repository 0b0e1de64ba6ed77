/// Copies of all that is in a storage, sealed under a passphrase of their own, while it goes on being used.
public struct Backups: Sendable {
  /// Makes a backup of the storage as it is at one moment, and keeps it until it is read to its end, or
  /// the next one is made.
  public var make: @Sendable (_ passphrase: Secret) async throws(StorageError) -> Backup
  /// Reads a part of a backup that was made.
  public var read: @Sendable (BackupPart) async throws(StorageError) -> Secret

  /// Makes the two functions one value.
  public init(
    make: @escaping @Sendable (Secret) async throws(StorageError) -> Backup,
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
  public static let none = failing(
    StorageError(
      .badRequest, "this storage makes no backups: only the encrypted file does",
      hint: "a keyring is backed up as its own program says; or move the credentials to the "
        + "encrypted file, with `kistd migrate`"))
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
