import Foundation
import KistSystem
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The text in a lock's file` {
  @Test func `leaves nothing of a longer one that was there`() throws {
    let file = try unsafe #require(unsafe tmpfile())
    defer { unsafe fclose(file) }
    let descriptor = unsafe fileno(file)
    for text in ["4194304 a-long-one\n", "7\n"] {
      #expect(writeLockText(text, to: descriptor))
      var bytes = [UInt8](repeating: 0, count: 64)
      let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
      #expect(String(decoding: bytes.prefix(count), as: UTF8.self) == text)
    }
  }

  @Test func `is an error where the file cannot be written`() {
    #expect(!writeLockText("7\n", to: -1))
    #expect(errno == EBADF)
  }
}
