import CLinux
import Glibc
import KistServer
import KistSystem
import KistTesting
import Testing

@testable import KistDaemon

/// Something outside of its own directories that a process that is confined cannot reach.
enum RefusedAccess: String, CaseIterable, Codable {
  case reading, writing, listing, making, makingADirectory, makingALink, makingAPipe, makingASocket
  case removing, removingADirectory, movingOut, linkingIn, truncating
  case commandingADevice
  case connectingToTCP, bindingToTCP, connectingToAnAbstractSocket, signalling

  /// The version of Landlock that knows of it.
  var version: CInt {
    switch self {
    // The first version refuses it with another error.
    case .movingOut: 2
    case .truncating: 3
    case .connectingToTCP, .bindingToTCP: 4
    case .commandingADevice: 5
    case .connectingToAnAbstractSocket, .signalling: 6
    default: 1
    }
  }

  /// The error of the refusal.
  var refusal: CInt {
    switch self {
    case .linkingIn: EXDEV
    case .connectingToAnAbstractSocket, .signalling: EPERM
    default: EACCES
    }
  }

  /// Tries it in a directory that has `own/file`, `other/file` and `other/empty`; returns the error
  /// number, or 0.
  func attempt(_ directory: String, _ endpoints: Endpoints, _ time: String) -> CInt {
    let other = directory + "/other", file = other + "/file"
    let new = other + "/\(self)"
    func opening(_ path: String, _ flags: CInt) -> CInt {
      let descriptor = unsafe open(path, flags, 0o600)
      if descriptor >= 0 { close(descriptor) }
      return descriptor
    }
    let result: CInt =
      switch self {
      case .reading: opening(file, O_RDONLY)
      case .writing: opening(file, O_WRONLY)
      case .listing: opening(other, O_RDONLY | O_DIRECTORY)
      case .making: opening(new + time, O_WRONLY | O_CREAT)
      case .makingADirectory: unsafe mkdir(new + time, 0o700)
      case .makingALink: unsafe symlink("x", new + time)
      case .makingAPipe: unsafe mkfifo(new + time, 0o600)
      case .makingASocket: (try? listen(at: new + time)) ?? -1
      case .removing:
        // One that was there before, and another.
        unsafe unlink(time == "before" ? file : directory + "/other/empty/file")
      case .removingADirectory: unsafe rmdir(other + "/empty")
      case .movingOut: unsafe rename(directory + "/own/file", new)
      case .linkingIn: unsafe link(file, directory + "/own/\(self)")
      case .truncating: unsafe truncate(file, 0)
      case .commandingADevice: askForEntropy()
      case .bindingToTCP: endpoints.bindToTCP(time)
      case .connectingToTCP: endpoints.connectToTCP(time)
      case .connectingToAnAbstractSocket: endpoints.connectToAbstract()
      case .signalling: kill(getppid(), 0)
      }
    let error = result < 0 ? errno : 0
    if time == "before" { restore(directory, other) }
    return error
  }

  /// Undoes what was possible before.
  private func restore(_ directory: String, _ other: String) {
    switch self {
    case .removing: close(unsafe open(other + "/empty/file", O_WRONLY | O_CREAT, 0o600))
    case .removingADirectory: unsafe mkdir(other + "/empty", 0o700)
    case .movingOut: unsafe rename(other + "/\(self)", directory + "/own/file")
    case .linkingIn: unsafe unlink(directory + "/own/\(self)")
    default: break
    }
  }
}

/// Opens a device that the process may read, and gives it a command.
private func askForEntropy() -> CInt {
  let device = unsafe open("/dev/urandom", O_RDONLY)
  guard device >= 0 else { return device }
  defer { close(device) }
  var bits: CInt = 0
  let getEntropyCount: UInt = 0x8004_5200  // RNDGETENTCNT
  return unsafe ioctl(device, getEntropyCount, &bits)
}

/// Sockets from before a process is confined, that listen and that connect.
struct Endpoints {
  private let tcp = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
  private let clients = (0..<2).map { _ in Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0) }
  private var address = sockaddr_in()
  private let abstract = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
  private let name = Array("\0kist-\(getpid())".utf8)

  init() throws {
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(tcp, address, size) == 0 && listen(tcp, 8) == 0
          && getsockname(tcp, address, &size) == 0
      }
    }
    try #require(isBound)
    let bound = unsafe withAddress(name) { unsafe bind(abstract, $0, $1) }
    try #require(bound == 0 && Glibc.listen(abstract, 8) == 0)
  }

  func connectToTCP(_ time: String) -> CInt { unsafe withTCP(time, address, connect) }

  /// Binds a socket to a free port of the loopback address.
  func bindToTCP(_ time: String) -> CInt {
    var anyPort = address
    anyPort.sin_port = 0
    return unsafe withTCP(time, anyPort, bind)
  }

  /// Calls a function with one of the two clients.
  ///
  /// A filter of calls would refuse to make another socket.
  private func withTCP(
    _ time: String, _ address: sockaddr_in,
    _ call: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt
  ) -> CInt {
    unsafe withUnsafePointer(to: address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe call(
          clients[time == "before" ? 0 : 1], $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  func connectToAbstract() -> CInt {
    let client = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    return unsafe withAddress(name) { unsafe connect(client, $0, $1) }
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test where the kernel has no Landlock.
  ///
  /// In continuous integration it fails instead.
  static var needsLandlock: Self { .needs("Landlock in the kernel", kist_landlock_version() > 0) }
}
