internal import KistCore
private import Synchronization

extension OpenStorage {
  /// Returns the same storage with its errors replaced by `map`.
  func mappingErrors(_ map: @escaping @Sendable (StorageError) -> StorageError) -> OpenStorage {
    @Sendable func mapped<Input: Sendable, Output: Sendable>(
      _ request: @escaping @Sendable (Input) async throws(StorageError) -> Output
    ) -> @Sendable (Input) async throws(StorageError) -> Output {
      { input throws(StorageError) in
        do throws(StorageError) { return try await request(input) } catch { throw map(error) }
      }
    }
    let status = mapped { (_: Void) throws(StorageError) in try await access.status() }
    let lock = mapped { (_: Void) throws(StorageError) in try await access.lock() }
    var storage = self
    storage.credentials = UserStorage(
      save: mapped(credentials.save), load: mapped(credentials.load),
      delete: mapped(credentials.delete), find: mapped(credentials.find))
    storage.access = StorageAccess(
      status: { () throws(StorageError) in try await status(()) },
      lock: { () throws(StorageError) in try await lock(()) }, unlock: mapped(access.unlock))
    storage.watch = WatchCredentials(begin: mapped(watch.begin))
    return storage
  }
}

extension OpenStorage {
  /// Locks the storage after `time` without a request for a credential or a backup.
  func lockingWhenIdle(after time: Duration) -> OpenStorage {
    let watch = QuietWatch(after: time) { _ = try? await access.lock() }
    @Sendable func noted<Input: Sendable, Output: Sendable>(
      _ request: @escaping @Sendable (Input) async throws(StorageError) -> Output
    ) -> @Sendable (Input) async throws(StorageError) -> Output {
      { input throws(StorageError) in
        watch.note()
        return try await request(input)
      }
    }
    var storage = self
    storage.credentials = UserStorage(
      save: noted(credentials.save), load: noted(credentials.load),
      delete: noted(credentials.delete), find: noted(credentials.find))
    storage.access.unlock = noted(access.unlock)
    storage.backups.make = noted(backups.make)
    watch.note()
    return storage
  }
}

extension UserStorage {
  /// Writes the pin when a credential may have been stored, before the save is answered.
  ///
  /// Written before the save, it would name even a keyring that is locked and refuses the save.
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

extension StorageAccess {
  func summary() async -> String {
    do throws(StorageError) {
      let status = try await status()
      return "\(status.storage), \(status.isLocked ? "locked" : "open")"
    } catch { return "\(error)" }
  }

  /// Adds to each status what only the daemon knows: the reason for this storage, and the uptime.
  func reporting(reason: String, since start: ContinuousClock.Instant) -> StorageAccess {
    @Sendable func complete(_ status: StorageStatus) -> StorageStatus {
      var status = status
      status.reason = reason
      status.uptime = Int((ContinuousClock.now - start).components.seconds)
      return status
    }
    return StorageAccess(
      status: { () throws(StorageError) in complete(try await status()) },
      lock: { () throws(StorageError) in complete(try await lock()) },
      unlock: { passphrase throws(StorageError) in complete(try await unlock(passphrase)) })
  }
}
