import Foundation
import KistClient
import KistTesting
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `The file that inject writes` {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "kist-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private func inject(_ template: String, _ storage: UserStorage) async -> (CInt, Recorder) {
    let recorder = Recorder()
    let terminal = recorder.terminal(input: Secret(utf8: template))
    let status = await Kist.status(
      of: ["inject", "--out", folder.appending(path: "out").path], on: terminal
    ) { command in
      try await (command as? any RequiresUserStorage)?
        .perform(storage, unlockedBy: .inMemory(), terminal)
    }
    return (status, recorder)
  }

  @Test func `replaces what is there, for its owner only`() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let storage = UserStorage.inMemory(now: { .sample })
    try await storage.save(.sample(CredentialKey(service: "s", account: "a"), secret: "hunter2"))
    let out = folder.appending(path: "out")
    try "old".write(to: out, atomically: false, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: out.path)
    let (status, recorder) = await inject("p={{ kist://s/a }}\n", storage)
    #expect(status == 0, "\(recorder.error)")
    #expect(recorder.output.isEmpty)
    #expect(try String(contentsOf: out, encoding: .utf8) == "p=hunter2\n")
    let attributes = try FileManager.default.attributesOfItem(atPath: out.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["out"])
  }

  @Test(arguments: [
    StorageError.notFound, .locked("the storage is locked"),
    StorageError(.unavailable, "nothing listens"),
  ])
  func `stays as it is where a secret cannot be had`(error: StorageError) async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let out = folder.appending(path: "out")
    try "old".write(to: out, atomically: false, encoding: .utf8)
    let (status, _) = await inject("{{ kist://s/a }}", .failing(error))
    #expect(status == error.code.exitStatus)
    #expect(try String(contentsOf: out, encoding: .utf8) == "old")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["out"])
  }

  @Test(arguments: ["a FIFO", "a link", "a directory"])
  func `replaces only regular files`(kind: String) async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let out = folder.appending(path: "out").path
    switch kind {
    case "a FIFO": try #require(unsafe mkfifo(out, 0o600) == 0)
    case "a link": try #require(unsafe symlink("elsewhere", out) == 0)
    default: try #require(unsafe mkdir(out, 0o700) == 0)
    }
    let before = try FileManager.default.attributesOfItem(atPath: out)[.type] as? FileAttributeType
    let (status, recorder) = await inject("text", .inMemory(now: { .sample }))
    #expect(status == 64)
    #expect(recorder.error.hasPrefix("kist: the file is not a regular file"))
    let after = try FileManager.default.attributesOfItem(atPath: out)[.type] as? FileAttributeType
    #expect(after == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["out"])
  }

  @Test func `is not made where it cannot be`() async throws {
    try FileManager.default.removeItem(at: folder)
    let (status, recorder) = await inject("text", .inMemory(now: { .sample }))
    #expect(status == 64)
    #expect(recorder.error.hasPrefix("kist: the directory \(folder.path) does not exist\n"))
    #expect(recorder.error.contains("make it: `mkdir -p \(folder.path)`"))
  }
}
