import Foundation
import KistSystem
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A word in a command to paste` {
  @Test(arguments: ["/home/a/.local/state/kist/key", "a-b_c.d:e@f+g", "0"])
  func `is as it is where it is plain`(word: String) { #expect(shellQuoted(word) == word) }

  @Test(arguments: [
    "", " ", "/tmp/a b;touch c", "it's", "''", "~/x", "$HOME", "`id`", "a\nb", "*", "\\", "\u{FC}",
    // One character in Swift, a quote and a combining mark in the shell.
    "a'\u{301}; echo b #",
  ])
  func `is one word for the shell, and is not carried out`(word: String) throws {
    let shell = Process()
    shell.executableURL = URL(filePath: "/bin/sh")
    shell.arguments = ["-c", "printf '%s\\0' \(shellQuoted(word))"]
    let pipe = Pipe()
    shell.standardOutput = pipe
    try shell.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    shell.waitUntilExit()
    #expect(String(decoding: output, as: UTF8.self) == word + "\0")
  }
}
