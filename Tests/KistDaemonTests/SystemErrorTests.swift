import ArgumentParser
import Foundation
import KistCore
import KistFile
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `What the system refuses` {
  @Test(
    arguments: [
      (ENOSPC, .full), (EDQUOT, .full), (EACCES, .denied), (EPERM, .denied),
      (EROFS, .unavailable), (EIO, .unavailable), (ELOOP, .unavailable),
    ] as [(CInt, StorageError.Code)])
  func `has one code in every room, and the hint of whoever asked`(
    number: CInt, code: StorageError.Code
  ) {
    errno = number
    let error = StorageError.failed("open", "/path", hint: "the caller's")
    #expect(error.code == code)
    #expect(error.code == StorageError.Code(errno: number))
    #expect(error.hint == (code == .full ? "free some space and try again" : "the caller's"))
  }

  @Test func `of a lock's file has the hint of whoever locks`() throws {
    let error = try #require(
      throws: StorageError.self,
      performing: {
        try ProcessLock(at: "/proc/absent/lock", hint: "the caller's") { _ in .notFound }
      })
    #expect(error.message.hasPrefix("cannot open /proc/absent/lock"))
    #expect(error.hint == "the caller's")
  }

  #if Libsecret
    @Test func `to a second daemon on the keyring says which is the first, and where to find it`()
      async throws
    {
      try await withDirectory { home in
        let options = try Kistd.parse([]).options(environment: { ["HOME": home][$0] })
        let first = try OpenStorage.keyring(options, busAddress: nil)
        let error = try #require(
          throws: StorageError.self,
          performing: { try OpenStorage.keyring(options, busAddress: nil) })
        #expect(error.message == "kistd serves the keyring already, pid \(getpid())")
        #expect(error.hint?.contains("the socket that its log names") == true)
        await first.close()
        await (try OpenStorage.keyring(options, busAddress: nil)).close()
      }
    }
  #endif

  @Test func `of the keyring's lock is not put down to the socket`() async throws {
    try await withDirectory { home in
      try Data().write(to: URL(filePath: home + "/.local"))
      let options = try Kistd.parse([]).options(environment: { ["HOME": home][$0] })
      let error = try #require(
        throws: StorageError.self,
        performing: { try OpenStorage.keyring(options, busAddress: nil) })
      #expect(error.hint?.contains("--socket") == false)
      #expect(error.hint?.contains("XDG_STATE_HOME") == true)
    }
  }
}
