internal import KistCore
private import Synchronization

extension UserStorage {
  /// Writes the pin when a credential may have been stored, before the save is answered.
  ///
  /// Writing it before the save would pin a keyring that cannot be unlocked and refuses the save.
  /// If the pin cannot be written, the save is not reported as done.
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
