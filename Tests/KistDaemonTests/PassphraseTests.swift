import Foundation
import KistCore
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `A passphrase from a descriptor` {
  private func pipe(holding text: String) throws -> CInt {
    let pipe = Pipe()
    try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    try pipe.fileHandleForWriting.close()
    return dup(pipe.fileHandleForReading.fileDescriptor)
  }

  @Test(arguments: [
    ("open sesame\n", "open sesame"), ("open sesame", "open sesame"), ("two\n\n", "two\n"),
    ("open sesame\r\n", "open sesame"), ("two\r\n\r\n", "two\r\n"), ("", ""),
  ])
  func `it is read to the end, less one trailing newline`(text: String, passphrase: String) throws {
    #expect(try readPassphrase(from: pipe(holding: text)) == Secret(utf8: passphrase))
  }

  @Test func `1,024 bytes are read, and one more is too large`() throws {
    let longest = String(repeating: "x", count: Limits.passphrase)
    for newline in ["", "\n", "\r\n"] {
      let passphrase = try readPassphrase(from: pipe(holding: longest + newline))
      #expect(passphrase.count == Limits.passphrase)
    }
    for text in [longest + "x", longest + "x\n", longest + "x\r\n", longest + longest] {
      let error = try #require(throws: StorageError.self) {
        try readPassphrase(from: pipe(holding: text))
      }
      #expect(error.code == .tooLarge)
    }
  }

  @Test func `the descriptor is closed`() async throws {
    // Nothing else may take the number meanwhile, so the process is one of its own.
    await #expect(processExitsWith: .success) {
      let pipe = Pipe()
      try pipe.fileHandleForWriting.close()
      let descriptor = dup(pipe.fileHandleForReading.fileDescriptor)
      _ = try readPassphrase(from: descriptor)
      if fcntl(descriptor, F_GETFD) != -1 { exit(1) }
    }
  }

  @Test(arguments: [0, 1, 2])
  func `a standard descriptor stays taken`(_ descriptor: Int) async {
    await #expect(processExitsWith: .success) { [descriptor = descriptor as Int] in
      let pipe = Pipe()
      try pipe.fileHandleForWriting.close()
      dup2(pipe.fileHandleForReading.fileDescriptor, CInt(descriptor))
      _ = try readPassphrase(from: CInt(descriptor))
      var null = stat()
      var status = stat()
      unsafe stat("/dev/null", &null)
      if unsafe fstat(CInt(descriptor), &status) != 0 || status.st_rdev != null.st_rdev { exit(1) }
    }
  }

  @Test func `a first one that is too short is refused before anything is made`() async throws {
    try await withDirectory { path in
      let home = RenewalHome(path: path)
      let words = ["--passphrase-fd", "70", "--", "/bin/true"]
      let error = try await home.kistd(words, [70: "1234567"], endsWith: 64).error
      #expect(error.contains("fewer than 8 bytes") && error.contains("nothing was changed"))
      #expect(mode(of: path + "/.local") == nil)
    }
  }

  @Test func `a descriptor of the process's own is refused and left open`() throws {
    let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    let error = try #require(throws: StorageError.self) { try readPassphrase(from: descriptor) }
    #expect(error.code == .badRequest)
    #expect(error.message.contains("\(descriptor)"))
    #expect(close(descriptor) == 0)
  }

  @Test func `a descriptor that is not open is an error that names it`() throws {
    let error = try #require(throws: StorageError.self) { try readPassphrase(from: 9_999) }
    #expect(error.code == .badRequest)
    #expect(error.message.contains("9999"))
  }
}
