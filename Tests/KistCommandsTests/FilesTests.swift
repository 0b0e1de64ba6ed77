import Foundation
import Glibc
import KistCore
import Testing

@testable import KistCommands

@Suite struct `Files that a person names` {
  @Test(arguments: [
    (EACCES, StorageError.Code.denied), (EROFS, .denied), (ENOENT, .badRequest),
    (ENOTDIR, .badRequest), (ENOSPC, .full), (EDQUOT, .full), (EIO, .unavailable),
  ])
  func `fail as what was wrong with them`(failure: CInt, code: StorageError.Code) {
    #expect(notWritten(failure).code == code)
    #expect(StorageError.notOpened("the file", failure).code == code)
  }

  @Test(arguments: [false, true])
  func `are not folders, whether or not they are replaced`(isReplacing: Bool) {
    let error = #expect(throws: StorageError.self) {
      _ = try NewFile(for: "/tmp", replacing: isReplacing)
    }
    #expect(error?.code == .badRequest)
    #expect(error?.hint?.contains("--replace") == false)
  }
}
