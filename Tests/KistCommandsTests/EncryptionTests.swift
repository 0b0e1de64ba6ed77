import KistCore
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `The recipients of an encrypted export` {
  @Test(arguments: [
    (["age1abc"], ["age", "--encrypt", "--recipient", "age1abc"]),
    (["ssh-ed25519 AAAA a@b"], ["age", "--encrypt", "--recipient", "ssh-ed25519 AAAA a@b"]),
    (
      ["/dev/null", "age1abc"],
      ["age", "--encrypt", "--recipients-file", "/dev/null", "--recipient", "age1abc"]
    ),
    (
      ["gpg:alice@example.com", "gpg:0xAB"],
      gpg + ["--recipient", "alice@example.com", "--recipient", "0xAB"]
    ),
  ])
  func `choose the program and its arguments`(recipients: [String], words: [String]) throws {
    #expect(try Encryption(for: recipients).words == words)
  }

  @Test(arguments: [
    ["-"], ["-x"], ["gpg:-x"], [""], ["gpg:"], ["gpg:alice", "age1abc"], ["/nonexistent"],
    ["AGE-SECRET-KEY-1HUNTER2"],
  ])
  func `are refused before a program starts, and not repeated`(recipients: [String]) {
    let error = #expect(throws: StorageError.self) { try Encryption(for: recipients) }
    #expect(error?.code == .badRequest)
    #expect(error?.description.contains("HUNTER2") == false)
  }
}

private let gpg = ["gpg", "--batch", "--quiet", "--no-auto-key-locate", "--encrypt"]
