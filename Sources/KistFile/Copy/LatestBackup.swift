internal import Dispatch
internal import Glibc
internal import KistCore
internal import KistSodium
private import Synchronization

/// The backup that was made last, until it was read; and where backups are made, one at a time.
final class LatestBackup: Sendable {
  /// A whole backup, in a file that has no name any more: where nobody reads it to its end, nothing is
  /// left of it.
  private final class Made: Sendable {
    let backup: Backup
    let file: Descriptor

    /// Takes a file that was written, and its name from it.
    init(_ unfinished: UnfinishedStore, count: Int) throws(StorageError) {
      file = try Descriptor.open(unfinished.path, O_RDONLY)
      unfinished.discard()
      backup = Backup(
        id: hexadecimal(randomBytes(16)),
        size: Int(try file.status(path: unfinished.path).st_size), count: count)
    }
  }

  private struct State {
    var isBeingMade = false
    var made: Made?
  }

  let queue = DispatchQueue(label: "kist.backups")
  private let state = Mutex(State())

  /// Makes a backup in the place of the one before; `busy` while another one is being made.
  func make(
    _ unfinished: UnfinishedStore, _ write: @escaping @Sendable () throws(StorageError) -> Int
  ) async throws(StorageError) -> Backup {
    let isAlone = state.withLock { state in
      defer { state.isBeingMade = true }
      return !state.isBeingMade
    }
    guard isAlone else {
      throw StorageError(.busy, "another backup is being made", hint: "try again in a while")
    }
    defer { state.withLock { $0.isBeingMade = false } }
    return try await onQueue { [self] () throws(StorageError) in
      discard()
      defer { unfinished.discard() }
      let made = try Made(unfinished, count: try write())
      state.withLock { $0.made = made }
      return made.backup
    }
  }

  /// Reads a part, and lets go of the backup with the last one.
  func read(_ part: BackupPart) async throws(StorageError) -> Secret {
    try await onQueue { [self] () throws(StorageError) in
      guard let made = state.withLock(\.made), made.backup.id == part.id else {
        throw StorageError(
          .unavailable,
          "the backup is there no more: it was not read for a while, or another one "
            + "was begun", hint: "make another one")
      }
      guard (0..<made.backup.size).contains(part.offset) else {
        throw .badRequest("`offset` is not in the backup")
      }
      let bytes = try made.file.read(
        upTo: min(Backup.partSize, made.backup.size - part.offset), from: part.offset)
      if part.offset + bytes.count == made.backup.size { discard() }
      return bytes
    }
  }

  /// Lets go of what was made.
  func discard() { state.withLock { $0.made = nil } }

  private func onQueue<Result: Sendable>(
    _ body: @escaping @Sendable () throws(StorageError) -> Result
  ) async throws(StorageError) -> Result {
    let result = await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: Swift.Result(catching: body)) }
    }
    return try result.get()
  }
}

extension Descriptor {
  /// So many bytes from an offset on, which must be there.
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
