import Glibc
import KistCore
import Testing

@testable import KistFile

/// Result codes of SQLite (https://sqlite.org/rescode.html).
private let corrupt: CInt = 11, full: CInt = 13, cannotOpen: CInt = 14, notADatabase: CInt = 26
private let endsTooEarly: CInt = 522, writeFailed: CInt = 778, flushFailed: CInt = 1034

@Suite(.timeLimit(.minutes(10))) struct `An error of the database` {
  @Test(arguments: [full, cannotOpen, writeFailed, flushFailed])
  func `is full when space or a quota is used up, whatever SQLite calls it`(code: CInt) {
    #expect(StorageError(database: code, errno: ENOSPC).code == .full)
    #expect(StorageError(database: code, errno: EDQUOT).code == .full)
  }

  @Test(arguments: [EIO, ENXIO, ENOMEM, EINTR])
  func `that the disk could not be read is unavailable, and not corrupt`(number: CInt) {
    #expect(StorageError(database: corrupt, errno: number).code == .unavailable)
  }

  @Test(arguments: [0, ENOENT, EINVAL, ENOSPC])
  func `is corrupt when the disk could be read`(number: CInt) {
    #expect(StorageError(database: corrupt, errno: number).code == .corrupt)
    #expect(StorageError(database: notADatabase, errno: number).code == .corrupt)
    #expect(StorageError(database: endsTooEarly, errno: number).code == .corrupt)
  }
}
