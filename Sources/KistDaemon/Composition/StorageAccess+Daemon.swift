internal import KistCore

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
