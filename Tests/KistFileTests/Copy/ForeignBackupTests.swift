import Foundation
import Glibc
import KistCore
import KistTesting
import Testing

@testable import KistFile

@Suite(.timeLimit(.minutes(5))) struct `A backup of another user` {
  @Test(.needsRoot("to give a file away"))
  func `is refused before the passphrase is asked for, with a remedy that needs no root`() throws {
    let store = try TestStore()
    let path = store.directory("backup")
    try Data("of another user".utf8).write(to: URL(filePath: path))
    try #require(unsafe chown(path, 1, 1) == 0)
    let backup = EncryptedFile.BackupFile(path: path) { () throws(StorageError) in
      Issue.record("the passphrase was asked for")
      return Secret(utf8: "")
    }
    let error = #expect(throws: StorageError.self) { try EncryptedFile.verify(backup) }
    #expect(error?.code == .denied)
    #expect(error?.message == "the backup \(path) belongs to another user")
    #expect(error?.hint?.contains("`cp`") == true)
  }
}
