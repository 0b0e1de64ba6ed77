internal import CLinux
internal import Glibc
internal import KistClient
internal import KistCore
internal import KistSystem
internal import Logging

/// The claim of a kistd on its storage, by which others find its socket.
///
/// It is a lock on a file that contains the path of the socket. A second file has a shared lock for
/// each command of another kistd that uses this one. Both files are beside the record of the storage
/// in use, which decides the storage. The files are never removed, as other lock files.
struct Claim: Sendable {
  private let file: CInt
  private let users: CInt

  /// The result of an attempt to take the claim.
  enum Attempt {
    case taken(Claim)
    /// Another kistd has the claim.
    case held
    /// kistd cannot use the files, for example because the disk is read-only.
    case impossible
  }

  /// Tries to take the claim; throws where another program has replaced one of the files.
  static func take(on options: Options) throws(StorageError) -> Attempt {
    guard makeDirectory(directory(of: options.pinFile)),
      let users = try openClaimFile(options.usersFile, O_RDWR | O_CREAT)
    else { return .impossible }
    var file: CInt?
    do throws(StorageError) {
      file = try openClaimFile(options.claimFile, O_RDWR | O_CREAT)
      if let file, takeLock(file, attempts: 2), ftruncate(file, 0) == 0 {
        return .taken(Claim(file: file, users: users))
      }
    } catch {
      close(users)
      throw error
    }
    close(users)
    guard let file else { return .impossible }
    close(file)
    return .held
  }

  /// Throws where `take` would, and changes nothing.
  static func check(_ options: Options) throws(StorageError) {
    for path in [options.usersFile, options.claimFile] {
      if let file = try openClaimFile(path, O_RDWR) { close(file) }
    }
  }

  /// Lets others find the socket; takes the claim again if it was given up and is still free.
  func publish(_ socket: String) {
    guard takeLock(file, attempts: 2) else { return }
    _ = writeLockText(socket + "\n", to: file)
  }

  /// Gives the claim up while this kistd does not serve the storage.
  func withdraw() { flock(file, LOCK_UN) }

  /// Whether commands of other kistd use this one.
  var isUsed: Bool {
    guard flock(users, LOCK_EX | LOCK_NB) == 0 else { return true }
    flock(users, LOCK_UN)
    return false
  }

  /// Waits until no command of another kistd uses this one, and admits no others; may be cancelled.
  func untilUnused() async throws {
    _ = try await untilCancelled {
      await withCheckedContinuation { continuation in
        startThread {
          while flock(users, LOCK_EX) != 0, errno == EINTR {}
          continuation.resume()
        }
      }
    }
  }
}

/// Opens a file of the claim; `nil` if that is not possible at all in its directory.
private func openClaimFile(_ path: String, _ flags: CInt) throws(StorageError) -> CInt? {
  do throws(UnfitFile) { return try openOwnFile(path, flags) } catch {
    switch error {
    case .notOpened: return nil
    // kistd reports these when it reads the record of the storage, which is in the same directory.
    case .foreignDirectory, .openDirectory: return nil
    case .link, .notRegular, .hardLink, .foreign: throw .unfit(error, path, hint: "")
    }
  }
}

extension Options {
  fileprivate var claimFile: String { directory(of: pinFile) + "/served" }
  fileprivate var usersFile: String { directory(of: pinFile) + "/served.users" }
}

/// The use of another kistd, which serves the same storage, by a command.
///
/// That kistd serves until this value is released.
final class Guest: Sendable {
  /// The socket of that kistd.
  let socket: String
  /// Advice on how to stop that kistd, which is read before this one confines itself.
  let stop: String
  private let users: CInt

  /// Finds that kistd; `nil` if there is none, or if it does not listen or is ending.
  init?(on options: Options) throws(StorageError) {
    guard let users = try openClaimFile(options.usersFile, O_RDONLY) else { return nil }
    guard flock(users, LOCK_SH | LOCK_NB) == 0,
      let socket = socketPath(ofKistdHolding: options.claimFile),
      options.socket == nil || options.socket == socket, isListenedOn(socket)
    else {
      close(users)
      return nil
    }
    let lock = try? openOwnFile(socket + ".lock", O_RDONLY)
    stop = lock.map { LockOwner(of: $0).stop } ?? "stop it"
    if let lock { close(lock) }
    (self.socket, self.users) = (socket, users)
  }

  deinit { close(users) }

  /// Throws where that kistd has another storage than the requested one, or another file than is there.
  func check(_ requested: StorageKind?) async throws(StorageError) {
    let status = try await StorageAccess.remote(socketPath: socket).status()
    let storage = status.storage
    let isOpenFile = storage == StorageKind.encryptedFile.rawValue && !status.isLocked
    if isOpenFile, let problem = status.problem {
      throw StorageError(
        problem.code, "the kistd that serves this store cannot use its file: \(problem.message)",
        hint:
          "the command was not started; wait until that kistd ends, or name another directory "
          + "with --data")
    }
    guard let requested, storage != requested.rawValue else { return }
    throw StorageError(
      .unavailable,
      "the kistd that serves this store has the storage \(storage), but \(requested.rawValue) was requested",
      hint: "name another store with --data, or remove the option or variable that requests "
        + requested.rawValue)
  }

  /// Throws where the storage is locked, because that kistd may not open an older store.
  func checkIsOpen() async throws(StorageError) {
    guard try await StorageAccess.remote(socketPath: socket).status().isLocked else { return }
    throw StorageError(
      .locked,
      "the kistd that serves this store has it locked, and was started without --accept-rollback",
      hint: "the command was not started; \(stop), and run the command again")
  }

  /// Throws where the passphrase does not open the storage; unlocks it if it is locked.
  ///
  /// That kistd tries one passphrase at a time, and answers `busy` to the others.
  func check(_ passphrase: Secret, within patience: Duration) async throws(StorageError) {
    let access = StorageAccess.remote(socketPath: socket)
    let deadline = ContinuousClock.now + patience
    while true {
      do throws(StorageError) {
        _ = try await access.unlock(passphrase)
        return
      } catch  where error.code == .busy && .now < deadline {
        await sleepUnwatched(for: .milliseconds(50))
      }
    }
  }
}

/// Throws where a kistd serves a storage, because it would keep that one.
func checkThatNoKistdRuns(_ options: Options) throws(StorageError) {
  guard let running = try Guest(on: options) else { return }
  throw StorageError(
    .busy, "kistd is running, and would go on with the storage that it has",
    hint: "\(running.stop), then try again; nothing was changed")
}

/// Whether this kistd serves its storage, or its command uses another kistd.
enum Role {
  case serving(Claim?)
  case guest(Guest)

  /// Decides; with a command, it waits up to ten seconds for another kistd that starts or ends.
  init(_ options: Options) throws(StorageError) {
    for attempt in 1...500 {
      let claiming = try Claim.take(on: options)
      if case .taken(let claim) = claiming {
        self = .serving(claim)
        return
      }
      guard case .held = claiming, options.mayBeGuest else { break }
      if let guest = try Guest(on: options) {
        self = .guest(guest)
        return
      }
      if attempt < 500 { usleep(20_000) }
    }
    self = .serving(nil)
  }
}

extension Options {
  /// Whether the command may use another kistd: not if another storage is requested.
  fileprivate var mayBeGuest: Bool {
    guard !command.isEmpty, let pin = try? PinFile(path: pinFile).read() else {
      return !command.isEmpty
    }
    return storage == nil || storage == pin.kind
  }
}
