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
    return try file.read(upTo: min(Backup.partSize, backup.size - offset), from: offset)
  }
}

extension Descriptor {
  /// Reads exactly this many bytes from an offset.
  fileprivate func read(upTo count: Int, from offset: Int) throws(StorageError) -> Secret {
    var bytes = WipedBytes(capacity: count)
    var failure: StorageError?
    bytes.append(upTo: count) { output in
      while !output.isFull, failure == nil {
        let read = unsafe output.withUnsafeMutableBufferPointer { buffer, filled in
          let read = unsafe pread(
            number, buffer.baseAddress! + filled, buffer.count - filled, off_t(offset + filled))
          filled += max(read, 0)
          return read
        }
        if read == 0 {
          failure = StorageError(
            .unavailable, "the backup was cut while it was read", hint: "make another one")
        }
        if read < 0, errno != EINTR { failure = .system("reading", path: "the backup") }
      }
    }
    if let failure { throw failure }
    return Secret(bytes)
  }
}
