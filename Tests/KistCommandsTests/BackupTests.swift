import Foundation
import KistCommands
import KistCore
import KistTesting
import Synchronization
import Testing

@Suite struct `kist backup` {
  private let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7919) })

  @Test func `writes the parts one after another, and says what to do with the file`() async throws
  {
    try await withDirectory { directory in
      let path = directory + "/backup"
      let recorder = Recorder()
      let terminal = recorder.terminal(
        typed: ["correct horse", "correct horse"], isTerminal: true, errorWidth: 80)
      #expect(await run(["backup", path], backups(expecting: "correct horse"), terminal) == 0)
      #expect(try Data(contentsOf: URL(filePath: path)) == content)
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
      #expect(recorder.output.hasPrefix("12 credentials; ") && recorder.output.contains("restore"))
      #expect(recorder.error.contains("copying [##########              ] 5 of 12"))
      #expect(recorder.error.contains("] 3000000 of 3000000") && recorder.error.hasSuffix("\r"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["backup"])
    }
  }

  @Test func `replaces no file unless that is asked for, and nothing that is no file`() async throws
  {
    try await withDirectory { directory in
      let path = directory + "/backup"
      let before = Data("before".utf8)
      try before.write(to: URL(filePath: path))
      let link = directory + "/link"
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
      for (words, status) in [
        ([path], 3), (["--replace", link], 64), (["--replace", directory], 64),
      ] as [([String], Int32)] {
        let recorder = Recorder()
        let terminal = recorder.terminal(input: Secret(utf8: "p"))
        #expect(await run(["backup"] + words, .unimplemented, terminal) == status)
        #expect(recorder.error.contains("hint: name "))
      }
      #expect(try Data(contentsOf: URL(filePath: path)) == before)
      let recorder = Recorder()
      let terminal = recorder.terminal(input: Secret(utf8: "p\n"))
      #expect(
        await run(["backup", "--json", "--replace", path], backups(expecting: "p"), terminal) == 0)
      #expect(recorder.output == #"{"file":"\#(path)","size":3000000,"count":12}"# + "\n")
      #expect(try Data(contentsOf: URL(filePath: path)) == content)
    }
  }

  @Test(arguments: [0, 1, 3])
  func `that is cut off leaves no file, or the one from before`(parts: Int) async throws {
    try await withDirectory { directory in
      for before in [nil, Data("before".utf8)] {
        let path = directory + "/backup"
        try before?.write(to: URL(filePath: path))
        let left = Mutex(parts)
        var backups = backups(expecting: "p")
        backups.read = { [read = backups.read] part throws(StorageError) in
          let mayGo = left.withLock { left in
            left -= 1
            return left >= 0
          }
          guard mayGo else { throw StorageError(.unavailable, "the connection was lost") }
          return try await read(part)
        }
        let recorder = Recorder()
        let terminal = recorder.terminal(input: Secret(utf8: "p"))
        #expect(await run(["backup", "--replace", path], backups, terminal) == 7)
        #expect((try? Data(contentsOf: URL(filePath: path))) == before)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        #expect(names == (before == nil ? [] : ["backup"]))
      }
    }
  }

  @Test func `that has no room leaves no file`() async throws {
    // In a process of its own, because the limit is the whole process's.
    await #expect(processExitsWith: .success) {
      try await withDirectory { directory in
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: 1_000_000, rlim_max: 1_000_000)
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        let recorder = Recorder()
        let terminal = recorder.terminal(input: Secret(utf8: "p"))
        let suite = `kist backup`()
        let status = await suite.run(
          ["backup", directory + "/backup"], suite.backups(expecting: "p"), terminal)
        #expect(status == 7)
        #expect(recorder.error.contains("the file cannot be written"))
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        #expect(names.isEmpty)
      }
    }
  }

  private func backups(expecting passphrase: String) -> Backups {
    Backups(
      make: { [content] request throws(StorageError) in
        switch request {
        case .begin(let given):
          #expect(given == Secret(utf8: passphrase))
          return .copied(5, of: 12, id: "b")
        case .goOn(let id): return .made(Backup(id: id, size: content.count, count: 12))
        }
      },
      read: { [content] part throws(StorageError) in
        #expect(part.id == "b")
        return Secret(copying: content.dropFirst(part.offset).prefix(Backup.partSize))
      })
  }

  private func run(_ words: [String], _ backups: Backups, _ terminal: Terminal) async -> Int32 {
    await Kist.status(of: words, on: terminal) { command in
      try await (command as? any RequiresBackups)?.perform(backups, terminal)
    }
  }
}

private func withDirectory(
  _ body: nonisolated(nonsending) (String) async throws -> Void
) async throws {
  let directory = FileManager.default.temporaryDirectory.appending(path: "kist-\(UUID())").path
  try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: directory) }
  try await body(directory)
}
