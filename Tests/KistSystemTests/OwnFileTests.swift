import Foundation
import KistSystem
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A file of this user` {
  @Test func `gets mode 600 when it is created, whatever the umask`() async {
    // In a separate process, because all threads share the umask.
    await #expect(processExitsWith: .success) {
      for mask in [0o777, 0o022, 0o200] as [mode_t] {
        let directory = try #require(makeTemporaryDirectory("/tmp/kist-own-file-"))
        let path = directory + "/file"
        umask(mask)
        close(try openOwnFile(path, O_RDWR | O_CREAT))
        umask(0)
        #expect(fileStatus(of: path)?.permissions == 0o600)
        try FileManager.default.removeItem(atPath: directory)
      }
    }
  }

  @Test
  func `in a directory that others may write to has a hint that keeps shared directories open`()
    throws
  {
    let directory = try #require(makeTemporaryDirectory("/tmp/kist-own-file-"))
    defer { try? FileManager.default.removeItem(atPath: directory) }
    for (mode, hint) in [
      (0o777, "`chmod 700 \(directory)`, or name another directory"),
      (0o1777, "name another directory, which only you may write to"),
    ] as [(mode_t, String)] {
      try #require(unsafe chmod(directory, mode) == 0)
      #expect(throws: UnfitFile.openDirectory) { try openOwnFile(directory + "/file", O_RDONLY) }
      #expect(UnfitFile.openDirectory.remedy(for: directory + "/file") == hint)
    }
  }

  @Test func `is opened only for reading if it is a hard link`() throws {
    let directory = try #require(makeTemporaryDirectory("/tmp/kist-own-file-"))
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let (path, other) = (directory + "/file", directory + "/other")
    try Data().write(to: URL(filePath: other))
    try FileManager.default.linkItem(atPath: other, toPath: path)
    for flags in [O_RDWR | O_CREAT, O_WRONLY] {
      #expect(throws: UnfitFile.hardLink) { try openOwnFile(path, flags) }
    }
    close(try openOwnFile(path, O_RDONLY))
  }
}
