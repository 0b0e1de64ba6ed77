import Foundation
import KistCore
import KistServer
import KistTesting
import KistWire
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `The socket of kistd` {
  private func claim(_ path: String) throws(StorageError) -> DaemonSocket {
    try DaemonSocket(claiming: SocketLocation(path: path))
  }

  @Test(arguments: [0o000, 0o022, 0o777])
  func `it is 0600 in a directory of 0700 whatever the umask`(_ mask: Int) async throws {
    try await withDirectory { directory in
      await #expect(processExitsWith: .success) {
        [directory = directory as String, mask = mask as Int] in
        umask(mode_t(mask))
        let socket = try DaemonSocket(
          claiming: SocketLocation(path: directory + "/a/b/kist.sock"))
        for (name, expected) in [("/a", 0o700), ("/a/b", 0o700), ("/a/b/kist.sock", 0o600)] {
          if mode(of: directory + name) != mode_t(expected) { exit(1) }
        }
        if fcntl(socket.descriptor, F_GETFD) != FD_CLOEXEC { exit(2) }
      }
    }
  }

  @Test func `a stale socket is replaced`() async throws {
    try await withDirectory { directory in
      let path = directory + "/kist.sock"
      close(try listen(at: path))
      #expect(!isListenedOn(path))
      let socket = try claim(path)
      #expect(isListenedOn(path))
      socket.remove()
      #expect(mode(of: path) == nil)
    }
  }

  @Test func `a live daemon's socket is not, and the error names its pid`() async throws {
    try await withDirectory { directory in
      let path = directory + "/kist.sock"
      let socket = try claim(path)
      let error = try #require(throws: StorageError.self) { try claim(path) }
      #expect(error.code == .unavailable)
      #expect(error.code.exitStatus == 7)
      #expect(error.message == "kistd is already running, pid \(getpid())")
      #expect(isListenedOn(path))
      socket.remove()
    }
  }

  @Test func `a socket that another program listens on is left alone`() async throws {
    try await withDirectory { directory in
      let path = directory + "/kist.sock"
      let other = try listen(at: path)
      let error = try #require(throws: StorageError.self) { try claim(path) }
      #expect(error.code == .unavailable)
      #expect(isListenedOn(path))
      close(other)
    }
  }

  @Test func `what is not a socket is left alone`() async throws {
    try await withDirectory { directory in
      let path = directory + "/kist.sock"
      try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
      let error = try #require(throws: StorageError.self) { try claim(path) }
      #expect(error.code == .denied)
      #expect(try text(of: path) == "precious")
    }
  }

  @Test func `a link in the place of the socket is left alone`() async throws {
    try await withDirectory { directory in
      let path = directory + "/kist.sock"
      try Data("precious".utf8).write(to: URL(fileURLWithPath: directory + "/target"))
      unsafe symlink("target", path)
      #expect(throws: StorageError.self) { try claim(path) }
      #expect(try text(of: path) == "precious")
    }
  }

  @Test func `a directory that is a link is refused`() async throws {
    try await withDirectory { directory in
      unsafe mkdir(directory + "/real", 0o700)
      unsafe symlink("real", directory + "/link")
      let error = try #require(throws: StorageError.self) { try claim(directory + "/link/s") }
      #expect(error.code == .denied)
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/real").isEmpty)
    }
  }

  @Test(arguments: [0o755, 0o710, 0o701, 0o777, 0o1777])
  func `a directory that others may enter is refused`(_ mode: Int) async throws {
    try await withDirectory { directory in
      unsafe chmod(directory, mode_t(mode))
      let error = try #require(throws: StorageError.self) { try claim(directory + "/s") }
      #expect(error.code == .denied)
      #expect(error.message.contains(directory))
      #expect(error.hint?.contains("chmod") == (mode & 0o002 == 0))
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
    }
  }

  @Test(.needsRoot("to give a directory away"))
  func `a directory of another user is refused`() async throws {
    try await withDirectory { directory in
      unsafe chown(directory, 65534, 65534)
      #expect(throws: StorageError.self) { try claim(directory + "/s") }
    }
  }

  @Test func `a missing XDG_RUNTIME_DIR that cannot be made is named in the hint`() throws {
    let location = try SocketLocation(path: "/proc/absent/kist/kist.sock")
    let error = try #require(throws: StorageError.self) {
      try DaemonSocket(claiming: location) { $0 == "XDG_RUNTIME_DIR" ? "/proc/absent" : nil }
    }
    #expect(
      error.hint?.hasPrefix("XDG_RUNTIME_DIR names /proc/absent, which does not exist") == true)
    #expect(error.hint?.hasSuffix("`unset XDG_RUNTIME_DIR`") == true)
  }

  @Test(.needsRoot("to give a directory away"))
  func `the usual place in an XDG_RUNTIME_DIR of another user is refused, also by the check`()
    async throws
  {
    try await withDirectory { directory in
      unsafe chown(directory, 65534, 65534)
      let location = try SocketLocation(path: directory + "/kist/kist.sock")
      let environment = { $0 == "XDG_RUNTIME_DIR" ? directory : nil }
      let claiming = try #require(throws: StorageError.self) {
        try DaemonSocket(claiming: location, environment: environment)
      }
      let checking = try #require(throws: StorageError.self) {
        try checkSocketPlace(location.path, environment: environment)
      }
      #expect(claiming == checking && claiming.code == .denied)
      #expect(
        claiming.message == "XDG_RUNTIME_DIR names \(directory), which belongs to another user")
      #expect(claiming.hint?.hasSuffix("`unset XDG_RUNTIME_DIR`") == true)
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
    }
  }

  @Test(arguments: ["/kist.sock", "/kist.sock.lock"], [true, false])
  func `what is in the place of the socket or its lock is found by the check, as by the start`(
    name: String, isDirectory: Bool
  ) async throws {
    try await withDirectory { directory in
      let path = directory + "/kist.sock"
      try checkSocketPlace(path) { _ in nil }
      if isDirectory {
        unsafe mkdir(directory + name, 0o700)
      } else if name == "/kist.sock" {
        try Data().write(to: URL(fileURLWithPath: path))
      } else {
        unsafe symlink("nowhere", directory + name)
      }
      let checking = try #require(throws: StorageError.self) {
        try checkSocketPlace(path) { _ in nil }
      }
      let claiming = try #require(throws: StorageError.self) { try claim(path) }
      #expect(checking == claiming && checking.code == .denied)
      #expect(checking.message.contains(directory + name))
    }
  }

  @Test func `a file in the place of the directory is refused`() async throws {
    try await withDirectory { directory in
      try Data("precious".utf8).write(to: URL(fileURLWithPath: directory + "/file"))
      #expect(throws: StorageError.self) { try claim(directory + "/file/s") }
      #expect(throws: StorageError.self) { try claim(directory + "/file/below/s") }
      #expect(try text(of: directory + "/file") == "precious")
    }
  }

  @Test(arguments: ["/link/s", "/link/below/s", "/link/below/further/s"])
  func `a directory behind a link to nowhere is refused`(_ path: String) async throws {
    try await withDirectory { directory in
      unsafe symlink("nowhere", directory + "/link")
      #expect(throws: StorageError.self) { try claim(directory + path) }
      let left = try FileManager.default.contentsOfDirectory(atPath: directory)
      #expect(left == ["link"])
    }
  }

  @Test func `only its own socket is removed at the end`() async throws {
    try await withDirectory { directory in
      let path = directory + "/kist.sock"
      let socket = try claim(path)
      unsafe unlink(path)
      try Data("of another".utf8).write(to: URL(fileURLWithPath: path))
      socket.remove()
      #expect(try text(of: path) == "of another")
    }
  }
}
