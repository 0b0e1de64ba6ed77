import Foundation
import KistCore
import KistTesting
import Synchronization
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `An import at a terminal` {
  private let storage = UserStorage.inMemory(now: { .sample })

  private func run(at terminal: Terminal) async -> Int32 {
    await Kist.status(of: ["import", "netrc", "-", "--yes", "--json"], on: terminal) { command in
      try await (command as? any RequiresUserStorage)?
        .perform(storage, unlockedBy: .inMemory(), terminal)
    }
  }

  private func netrc(_ lines: Int) -> Secret {
    Secret(utf8: (0..<lines).map { "machine h\($0) login u password p\n" }.joined())
  }

  @Test func `shows how far it is on a terminal's standard error, and takes that away`() async {
    let recorder = Recorder()
    let status = await run(at: recorder.terminal(input: netrc(130), errorWidth: 80))
    #expect(status == 0)
    #expect(recorder.error.contains("\rsaving [###########             ] 64 of 130"))
    #expect(recorder.error.contains("] 130 of 130"))
    #expect(recorder.error.hasSuffix("\r"))
    #expect(!recorder.error.contains("\u{1B}"), "no colors, and nothing else that a terminal obeys")
  }

  @Test func `names the folder of pass in which there is nothing`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "kist-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let recorder = Recorder()
    let status = await Kist.status(
      of: ["import", "pass", folder.path], on: recorder.terminal()
    ) { command in
      try await (command as? any RequiresUserStorage)?
        .perform(storage, unlockedBy: .inMemory(), recorder.terminal())
    }
    #expect(status == 64)
    #expect(recorder.error.hasPrefix("kist: there are no entries of pass in \(folder.path)\n"))
  }

  @Test(arguments: [(64, Int?.some(80)), (130, nil)])
  func `shows nothing of it where it is over at once, or in a pipe`(lines: Int, width: Int?) async {
    let recorder = Recorder()
    let status = await run(at: recorder.terminal(input: netrc(lines), errorWidth: width))
    #expect(status == 0)
    #expect(recorder.error.isEmpty)
  }

  @Test func `ends between two portions where a signal asks for it`() async throws {
    let recorder = Recorder()
    let looks = Mutex(0)
    let terminal = recorder.terminal(input: netrc(130)) {
      looks.withLock { looks in
        looks += 1
        return looks == 2 ? 2 : nil
      }
    }
    #expect(await run(at: terminal) == 7)
    #expect(recorder.error.contains("kist: interrupted: 64 of 130 were saved\n"))
    #expect(recorder.error.contains("signal 2\n"))
    #expect(try await storage.findAll().count == 64)
  }

  @Test(arguments: ["aws", "cargo", "docker"])
  func `of a file of settings takes no more than 1 MiB`(format: String) async {
    let recorder = Recorder()
    let terminal = recorder.terminal(
      input: Secret(copying: Array(repeating: 0x20, count: 1 << 20 + 1)))
    let status = await Kist.status(of: ["import", format, "-", "--yes"], on: terminal) { command in
      try await (command as? any RequiresUserStorage)?
        .perform(storage, unlockedBy: .inMemory(), terminal)
    }
    #expect(status == 9)
    #expect(recorder.error.contains("longer than 1048576 bytes"))
  }

  @Test(arguments: [
    (
      "SQLite format 3\0",
      "the file is an SQLite database, as a backup of kist is, and not an export"
    ),
    ("age-encryption.org/v1\n", "the file is encrypted with age"),
  ])
  func `names the kind of a file that is not an export`(start: String, message: String) async {
    let recorder = Recorder()
    let terminal = recorder.terminal(input: Secret(utf8: start + "\u{10}\0\u{1}"))
    let status = await Kist.status(of: ["import", "kist", "-", "--yes"], on: terminal) { command in
      try await (command as? any RequiresUserStorage)?
        .perform(storage, unlockedBy: .inMemory(), terminal)
    }
    #expect(status == 64)
    #expect(recorder.error.hasPrefix("kist: \(message)\nhint: nothing was imported; "))
  }

  @Test func `leaves what came in between as it is, and says so`() async throws {
    var racing = storage
    racing.save = { [storage] request throws(StorageError) in
      let theirs = NewCredential(key: request.credential.key, secret: Secret(utf8: "theirs"))
      try await storage.save(theirs)
      return try await storage.save(request)
    }
    let recorder = Recorder()
    let terminal = recorder.terminal(input: netrc(1))
    let status = await Kist.status(of: ["import", "netrc", "-", "--yes"], on: terminal) {
      [racing] command in
      try await (command as? any RequiresUserStorage)?
        .perform(racing, unlockedBy: .inMemory(), terminal)
    }
    #expect(status == 3)
    #expect(recorder.error.contains("0 of 1 were saved; another program changed"))
    let key = CredentialKey(service: "h0", account: "u")
    #expect(try await storage.load(key).secret == Secret(utf8: "theirs"))
  }

  @Test(arguments: [
    ("docker", #"{"auths":{"ghcr.io":{"auth":"YTpi"}},"credsStore":"kist"}"#, "`auths` from it"),
    ("netrc", "machine h login u password p", "it"),
  ])
  func `says what of the file can go, and no setting of its program`(
    source: String, text: String, what: String
  ) async {
    let file = FileManager.default.temporaryDirectory.appending(path: "kist-\(UUID())").path
    let isMade = FileManager.default.createFile(
      atPath: file, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
    #expect(isMade)
    defer { try? FileManager.default.removeItem(atPath: file) }
    let recorder = Recorder()
    let terminal = recorder.terminal(isTerminal: true, width: 200)
    let status = await Kist.status(of: ["import", source, file, "--yes"], on: terminal) { command in
      try await (command as? any RequiresUserStorage)?
        .perform(storage, unlockedBy: .inMemory(), terminal)
    }
    #expect(status == 0)
    #expect(recorder.output.hasSuffix("; when everything works without it, remove \(what)\n"))
  }
}
