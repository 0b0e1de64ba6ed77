internal import KistCore
private import Synchronization

extension UserStorage {
  /// Says where credentials are kept before the first of them is saved; a save that cannot be
  /// preceded by that is not carried out.
  func pinning(_ pin: @escaping @Sendable () throws(StorageError) -> Void) -> UserStorage {
    let isPinned = IsPinned()
    var storage = self
    storage.save = { request throws(StorageError) in
      try isPinned.value.withLock { isPinned throws(StorageError) in
        guard !isPinned else { return }
        try pin()
        isPinned = true
      }
      return try await save(request)
    }
    return storage
  }
}

private final class IsPinned: Sendable {
  let value = Mutex(false)
}
