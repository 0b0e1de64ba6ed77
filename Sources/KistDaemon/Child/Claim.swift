internal import CLinux
internal import Glibc
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

  /// Takes the claim; `nil` if another kistd has it, or if the files cannot be used.
  init?(on options: Options) {
    guard makeDirectory(directory(of: options.pinFile)),
      let file = try? openOwnFile(options.claimFile, O_RDWR | O_CREAT)
    else { return nil }
    guard takeLock(file, attempts: 2), ftruncate(file, 0) == 0,
      let users = try? openOwnFile(options.usersFile, O_RDWR | O_CREAT)
    else {
      close(file)
      return nil
    }
    (self.file, self.users) = (file, users)
  }

  /// Lets others find the socket.
  func publish(_ socket: String) { _ = writeLockText(socket + "\n", to: file) }

  /// Gives the claim up, because this kistd does not serve the storage.
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
  private let users: CInt

  /// Finds that kistd; `nil` if there is none, or if it does not listen or is ending.
  init?(on options: Options) {
    guard let users = try? openOwnFile(options.usersFile, O_RDONLY) else { return nil }
    guard flock(users, LOCK_SH | LOCK_NB) == 0, let socket = servedSocket(options.claimFile),
      options.socket == nil || options.socket == socket, isListenedOn(socket)
    else {
      close(users)
      return nil
    }
    (self.socket, self.users) = (socket, users)
  }

  deinit { close(users) }
}

/// Whether this kistd serves its storage, or its command uses another kistd.
enum Role {
  case serving(Claim?)
  case guest(Guest)

  /// Decides; with a command, it waits up to ten seconds for another kistd that starts or ends.
  init(_ options: Options) {
    for attempt in 1...500 {
      if let claim = Claim(on: options) {
        self = .serving(claim)
        return
      }
      guard options.mayBeGuest else { break }
      if let guest = Guest(on: options) {
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
