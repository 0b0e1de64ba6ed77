import ArgumentParser
import Foundation
import KistCore
import KistFile
import Logging
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `What the system refuses` {
  @Test(
    arguments: [
      (ENOSPC, .full), (EDQUOT, .full), (EACCES, .denied), (EPERM, .denied),
      (EROFS, .unavailable), (EIO, .unavailable), (ELOOP, .unavailable),
    ] as [(CInt, StorageError.Code)])
  func `has one code in every module, and the caller's hint`(
    number: CInt, code: StorageError.Code
  ) {
    errno = number
    let error = StorageError.failed("open", "/path", hint: "the caller's")
    #expect(error.code == code)
    #expect(error.code == StorageError.Code(errno: number))
    #expect(error.hint == (code == .full ? "free some space and try again" : "the caller's"))
  }

  @Test func `at a lock file has the caller's hint`() throws {
    let error = try #require(
      throws: StorageError.self,
      performing: {
        try ProcessLock(at: "/proc/absent/lock", hint: "the caller's") { _ in .notFound }
      })
    #expect(error.message.hasPrefix("cannot open /proc/absent/lock"))
    #expect(error.hint == "the caller's")
  }

  #if Libsecret
    @Test func `to a second daemon on the keyring names the first, and where to find it`()
      async throws
    {
      try await withDirectory { home in
        let context = try context(in: home)
        let first = try await StorageKind.libsecret.open(context, nil)
        let error = try #require(
          await #expect(throws: StorageError.self) {
            try await StorageKind.libsecret.open(context, nil)
          })
        #expect(error.message == "another kistd serves the keyring already, pid \(getpid())")
        #expect(error.hint?.contains("as `kist` does") == true)
        await first.close()
        await (try await StorageKind.libsecret.open(context, nil)).close()
      }
    }
  #endif

  @Test func `at the keyring's lock does not blame the socket`() async throws {
    try await withDirectory { home in
      try Data().write(to: URL(filePath: home + "/.local"))
      let context = try context(in: home)
      let error = await #expect(throws: StorageError.self) {
        try await StorageKind.libsecret.open(context, nil)
      }
      #expect(error?.hint?.contains("--socket") == false)
      #expect(error?.hint?.contains("XDG_STATE_HOME") == true)
    }
  }

  private func context(in home: String) throws -> StorageContext {
    StorageContext(
      options: try Kistd.parse([]).options { ["HOME": home][$0] },
      // A keyring is opened without a connection to its bus.
      environment: { ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/absent"][$0] },
      logger: Logger(label: "test"))
  }
}
