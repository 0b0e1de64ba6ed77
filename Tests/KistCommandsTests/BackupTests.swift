import Foundation
import KistCore
import KistTesting
import Synchronization
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `kist backup` {
  private let content = Data(
    Array("SQLite format 3\0".utf8) + (0..<2_999_984).map { UInt8(truncatingIfNeeded: $0 &* 7919) })

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
      #expect(recorder.output.hasPrefix("backed up 12 credentials; "))
      #expect(recorder.output.contains("restore"))
      #expect(recorder.error.contains("copying [##########              ] 5 of 12"))
      #expect(recorder.error.contains("] 3000000 of 3000000") && recorder.error.hasSuffix("\r"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["backup"])
    }
  }

  @Test func `replaces a file only on request, and never anything else`() async throws {
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

  @Test(
    arguments: [
      (StorageAccess.failing(StorageError(.unavailable, "no kistd is listening")), 7),
      (.standing { $0.unlocksWith = .provider }, 64), (.standing { $0.isLocked = true }, 5),
    ] as [(StorageAccess, Int32)])
  func `asks for no passphrase where there can be no backup`(
    access: StorageAccess, status expected: Int32
  ) async throws {
    try await withDirectory { directory in
      let recorder = Recorder()
      var terminal = recorder.terminal(isTerminal: true)
      terminal.askHidden = { question throws(StorageError) in
        #expect(question == "The storage is locked. Passphrase of the encrypted file: ")
        return Secret(utf8: "")
      }
      let words = ["backup", directory + "/backup"]
      let status = await Kist.status(of: words, on: terminal) { [terminal] command in
        try await (command as? any RequiresBackups)?
          .perform(.unimplemented, unlockedBy: access, terminal)
      }
      #expect(status == expected)
      #expect(recorder.error.hasPrefix("kist: "))
    }
  }

  @Test func `says without a terminal, too, that a keyring has no backup`() async throws {
    try await withDirectory { directory in
      let recorder = Recorder()
      let terminal = recorder.terminal()
      let words = ["backup", directory + "/backup"]
      let status = await Kist.status(of: words, on: terminal) { command in
        try await (command as? any RequiresBackups)?
          .perform(.unimplemented, unlockedBy: .standing { $0.unlocksWith = .provider }, terminal)
      }
      #expect(status == 64)
      #expect(recorder.error.contains("keyring"), "\(recorder.error)")
    }
  }

  @Test func `offers to unlock the storage first`() async throws {
    try await withDirectory { directory in
      let access = StorageAccess.inMemory()
      _ = try await access.lock()
      let path = directory + "/backup"
      let terminal = Recorder().terminal(typed: ["correct horse", "p", "p"], isTerminal: true)
      let status = await Kist.status(of: ["backup", path], on: terminal) { command in
        try await (command as? any RequiresBackups)?
          .perform(backups(expecting: "p"), unlockedBy: access, terminal)
      }
      #expect(status == 0)
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

  @Test(arguments: [
    (BackupProgress.copied(7, of: 3, id: "b"), 10, 1, "makes no progress"),
    (.copied(-7, of: -3, id: "b"), 10, 1, "makes no progress"),
    (.copied(0, of: 0, id: "b"), 10, 1, "longer than kistd announced"),
    (.copied(0, of: 0, id: "b"), 0, 1, "an impossible size"),
    (.copied(0, of: 0, id: "b"), -1, 1, "an impossible size"),
    (.copied(0, of: 0, id: "b"), 10, -1, "an impossible size"),
    (.copied(0, of: 0, id: "b"), 1000, 1, "not a database"),
  ])
  func `ends where kistd says numbers that cannot be`(
    progress: BackupProgress, size: Int, count: Int, message: String
  ) async throws {
    let backup = Backup(id: "b", size: size, count: count)
    try await withDirectory { directory in
      let backups = Backups(
        make: { request throws(StorageError) in
          if case .begin = request { progress } else { .made(backup) }
        },
        read: { _ throws(StorageError) in Secret(utf8: "more than ten bytes") })
      let recorder = Recorder()
      let terminal = recorder.terminal(
        typed: ["correct horse", "correct horse"], isTerminal: true, errorWidth: 80)
      let words = ["backup", directory + "/backup"]
      #expect(await `kist backup`().run(words, backups, terminal) == 1)
      #expect(recorder.error.contains(message))
      let names = try FileManager.default.contentsOfDirectory(atPath: directory)
      #expect(names.isEmpty)
    }
  }

  @Test func `ends where kistd copies the same credentials for ever`() async {
    let backups = Backups(
      make: { _ throws(StorageError) in .copied(5, of: 12, id: "b") },
      read: { _ throws(StorageError) in Secret(utf8: "") })
    let error = await #expect(throws: StorageError.self) {
      _ = try await backups.make(under: Secret(utf8: "correct horse"))
    }
    #expect(error?.code == .internal)
  }

  private func backups(expecting passphrase: String) -> Backups {
    Backups(
      make: { [content] request throws(StorageError) in
        switch request {
        case .begin(let given, _):
          #expect(given == Secret(utf8: passphrase))
          return .copied(5, of: 12, id: "b")
        case .poll(let id): return .made(Backup(id: id, size: content.count, count: 12))
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

extension StorageAccess {
  /// Of a storage that stands in a way, and is neither locked nor unlocked.
  fileprivate static func standing(_ change: (inout StorageStatus) -> Void) -> StorageAccess {
    var status = StorageStatus(
      storage: "memory", isLocked: false, unlocksWith: .passphrase, reopensAtRestart: false,
      durability: .memory, keyProtection: "nothing")
    change(&status)
    var access = StorageAccess.unimplemented
    access.status = { [status] () throws(StorageError) in status }
    return access
  }

  fileprivate static func failing(_ error: StorageError) -> StorageAccess {
    var access = StorageAccess.unimplemented
    access.status = { () throws(StorageError) in throw error }
    return access
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
