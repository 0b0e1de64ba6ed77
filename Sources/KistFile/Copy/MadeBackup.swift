internal import Glibc
internal import KistCore
internal import KistSodium

/// A finished backup in a file without a name.
///
/// The system deletes its data when the file is closed, even if it was not read to its end.
final class MadeBackup: Sendable {
  let backup: Backup
  private let file: Descriptor

  /// Opens a written file and removes its name.
  init(_ unfinished: UnfinishedStore, id: String, count: Int) throws(StorageError) {
    file = try Descriptor.open(unfinished.path, O_RDONLY)
    unfinished.discard()
    backup = Backup(
      id: id, size: Int(try file.status(path: unfinished.path).st_size), count: count)
  }

  /// Reads the part that begins at an offset.
  func read(from offset: Int) throws(StorageError) -> Secret {
    guard (0..<backup.size).contains(offset) else {
      throw .badRequest("`offset` is not in the backup")
    }
    let count = min(Backup.partSize, backup.size - offset)
    let part = try file.secret(upTo: count, at: offset, path: "the backup")
    guard part.count == count else {
      throw StorageError(
        .unavailable, "the backup was cut while it was read", hint: "make another one")
    }
    return part
  }
}
