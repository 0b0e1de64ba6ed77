import Foundation
import Glibc
import KistCore
import KistInterop
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `Files that the user names` {
  @Test(arguments: [
    (EACCES, StorageError.Code.denied), (EROFS, .denied), (ENOENT, .badRequest),
    (ENOTDIR, .badRequest), (ENOSPC, .full), (EDQUOT, .full), (EIO, .unavailable),
  ])
  func `fail as what was wrong with them`(failure: CInt, code: StorageError.Code) {
    #expect(notWritten(failure).code == code)
    #expect(StorageError.notOpened("the file", failure).code == code)
  }

  @Test func `with secrets are not made where no directory in memory is safe`() {
    let error = #expect(throws: StorageError.self) {
      _ = try SecretFiles(
        [Setting(name: "K", value: Secret(utf8: "hunter2"))],
        under: ["/proc", "relative", "", "/nonexistent", "/usr"])
    }
    #expect(error?.code == .unavailable)
    #expect(error?.hint?.contains("XDG_RUNTIME_DIR") == true)
  }

  @Test(arguments: [false, true])
  func `are not folders, whether or not they are replaced`(isReplacing: Bool) {
    let error = #expect(throws: StorageError.self) {
      _ = try NewFile(for: "/tmp", replacing: isReplacing)
    }
    #expect(error?.code == .badRequest)
    #expect(error?.hint?.contains("--replace") == false)
  }

  /// The permissions are told by the test: only root could mount a file system that keeps none.
  @Test(arguments: [0o644, 0o755, 0o620, 0o602] as [mode_t])
  func `are refused, and not left behind, where they come out open to others`(
    permissions: mode_t
  ) throws {
    let folder = "/tmp/kist-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let opened = #expect(throws: StorageError.self) {
      _ = try openNewFile(folder + "/file") { _ in permissions }
    }
    let begun = #expect(throws: StorageError.self) {
      _ = try NewFile(for: folder + "/file", replacing: false) { _ in permissions }
    }
    for error in [opened, begun] {
      #expect(error?.code == .denied)
      #expect(error?.outcome == .unchanged)
      #expect(error?.hint?.contains("another file system") == true)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
  }

  @Test func `are made for nobody else, whatever the umask`() async {
    await #expect(processExitsWith: .success) {
      umask(0)
      let path = "/tmp/kist-\(UUID().uuidString.prefix(8))"
      let file = try openNewFile(path)
      unsafe unlink(path)
      if permissions(of: file) != 0o600 { exit(1) }
    }
  }
}
