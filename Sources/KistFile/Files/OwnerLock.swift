internal import Glibc
internal import KistCore
internal import KistSystem
private import Synchronization

/// The lock that lets only one process open a store, on a file beside the store.
///
/// The file is never removed: a process that opens it during the removal would lock a file that no
/// other process can see. The file contains the owner's pid and the boot id of the system.
final class OwnerLock: Sendable {
  private let descriptor: Mutex<Descriptor?>

  /// Takes the lock, or throws an error with this code that names the owner.
  init(
    beside path: String, orRefuseWith code: StorageError.Code = .unavailable
  ) throws(StorageError) {
    let path = path + ".lock"
    let descriptor: Descriptor
    do throws(UnfitFile) { descriptor = try Descriptor.openOwn(path, O_RDWR | O_CREAT) } catch {
      throw .unfit(error, "lock", path)
    }
    guard takeLock(descriptor.number) else {
      throw errno == EWOULDBLOCK
        ? Self.refusal(code, LockOwner(of: descriptor.number)) : .system("locking", path: path)
    }
    try descriptor.setMode(0o600, path: path)
    guard writeLockText("\(getpid()) \(Self.bootID)\n", to: descriptor.number) else {
      throw .system("writing", path: path)
    }
    self.descriptor = Mutex(descriptor)
  }

  /// Throws where `init` could not open the file of the lock; accepts a missing one.
  static func checkFile(beside path: String) throws(StorageError) {
    let path = path + ".lock"
    do throws(UnfitFile) { _ = try Descriptor.openOwn(path, O_RDWR) } catch {
      guard error.isMissing else { throw .unfit(error, "lock", path) }
    }
  }

  deinit { release() }

  func release() {
    descriptor.withLock { descriptor in
      // Closing alone would leave the lock with a child process between `fork` and `exec`.
      if let descriptor { flock(descriptor.number, LOCK_UN) }
      descriptor = nil
    }
  }

  private static func refusal(_ code: StorageError.Code, _ owner: LockOwner) -> StorageError {
    guard code != .busy, owner.command == nil else {
      let name = owner.pid == nil ? "another process" : "\(owner)"
      return StorageError(code, "the store is in use by \(name)", hint: owner.stop)
    }
    let name = owner.pid.map { "kistd (pid \($0))" } ?? "another kistd"
    return StorageError(
      code, "\(name) is running with this store",
      hint: "use that kistd, as `kist` does: `kist status` shows it; or \(owner.stop)")
  }

  private static var bootID: Substring {
    text(ofProcFile: "/proc/sys/kernel/random/boot_id")?.prefix { !$0.isNewline } ?? "-"
  }
}
