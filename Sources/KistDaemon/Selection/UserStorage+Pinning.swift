internal import KistCore
private import Synchronization

extension UserStorage {
  /// Says where credentials are kept as soon as one may be, and before that is answered.
  ///
  /// Not before the save is tried: a keyring that nobody can unlock would be pinned by what it
  /// refused. Where the pin cannot be written, the save is not answered as done.
  func pinning(_ pin: @escaping @Sendable () throws(StorageError) -> Void) -> UserStorage {
    let isPinned = IsPinned()
    var storage = self
    storage.save = { request throws(StorageError) in
      do throws(StorageError) {
        let summary = try await save(request)
        do throws(StorageError) { try isPinned.ensure(pin) } catch {
          throw error.withOutcome(.unknown)
        }
        return summary
      } catch {
        if error.outcome == .unknown { try? isPinned.ensure(pin) }
        throw error
      }
    }
    return storage
  }
}

private final class IsPinned: Sendable {
  private let value = Mutex(false)

  func ensure(_ pin: () throws(StorageError) -> Void) throws(StorageError) {
    try value.withLock { isPinned throws(StorageError) in
      guard !isPinned else { return }
      try pin()
      isPinned = true
    }
  }
}
