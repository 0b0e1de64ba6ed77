import Foundation
import KistClient
import KistTesting
import Testing

@Suite(.needsRoot("to read the memory of another process"), .timeLimit(.minutes(10)))
struct `The memory of kistd` {
  @Test func `contains no secret of a save or a load after the connection closes`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        // Random, so that no program or log contains a copy.
        let marks = (0..<3).map { _ in randomMark() }
        try await exchange(marks, with: daemon)
        let memory = ProcessMemory(processIdentifier: daemon.processIdentifier)
        for mark in marks {
          for form in [Array(mark.utf8), Array(Data(mark.utf8).base64EncodedString().utf8)] {
            let regions = try memory.regions(holding: form)
            #expect(regions.isEmpty, "\(regions)")
          }
        }
        // The scan finds text that is there, so an empty result is meaningful.
        #expect(try !memory.regions(holding: Array(home.socket.utf8)).isEmpty)
      }
    }
  }

  @Test func `contains subkeys only in guarded pages, and no master key`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { _ in }
      // No other program can read the store while kistd runs.
      let keys = try await keys(of: home)
      try await withDaemon(in: home) { daemon in
        try await exchange([randomMark()], with: daemon)
        let memory = ProcessMemory(processIdentifier: daemon.processIdentifier)
        let keyFile = Array(try Data(contentsOf: URL(filePath: home.keyFile)))
        #expect(try memory.regions(holding: keyFile).isEmpty)
        // kistd wipes the master key once the store is open; the subkeys derived from it remain.
        #expect(try memory.regions(holding: keys[0]).isEmpty)
        for subkey in keys.dropFirst() {
          let regions = try memory.regions(holding: subkey)
          // Each is in its own read-only page, which libsodium puts between two unreadable ones.
          #expect(regions.count == 1)
          #expect(regions.allSatisfy { $0.permissions == "r--p" && $0.name.isEmpty }, "\(regions)")
          #expect(regions.allSatisfy { $0.range.count <= 4096 }, "\(regions)")
        }
      }
    }
  }

  @Test func `does not contain the passphrase from its start, whether unlocked or locked`()
    async throws
  {
    try await withHome { home in
      let passphrase = randomMark()
      try await withDaemon(in: home, ["--passphrase-fd", "0"], input: passphrase + "\n") { daemon in
        let memory = ProcessMemory(processIdentifier: daemon.processIdentifier)
        let access = StorageAccess.remote(socketPath: home.socket)
        let before = try await access.status()
        #expect(!before.isLocked)
        #expect(try memory.regions(holding: Array(passphrase.utf8)).isEmpty)
        let after = try await access.lock()
        #expect(after.isLocked)
        #expect(try memory.regions(holding: Array(passphrase.utf8)).isEmpty)
        #expect(try !memory.regions(holding: Array(home.socket.utf8)).isEmpty)
      }
    }
  }

  /// Saves and loads each mark, short and long, over a connection that is then closed.
  private func exchange(_ marks: [String], with daemon: Daemon) async throws {
    let storage = daemon.connect()
    for (number, mark) in marks.enumerated() {
      let key = CredentialKey(service: "memory", account: "\(number)")
      let secret = Secret(utf8: String(repeating: mark, count: 1 + number * 3000))
      try await storage.save(NewCredential(key: key, secret: secret))
      #expect(try await storage.load(key).secret == secret)
    }
  }

  private func randomMark() -> String {
    (0..<12).map { _ in String(UInt32.random(in: .min ... .max), radix: 36) }.joined()
  }

  /// The master key and its subkeys, from the Python reader of the file format.
  private func keys(of home: Home) async throws -> [[UInt8]] {
    let lines = try await readStore(home, ["--keys"]).split(separator: "\n")
    try #require(lines.count == 9 && lines.allSatisfy { $0.utf8.count == 64 })
    return lines.map { line in
      let digits = Array(line.utf8)
      return stride(from: 0, to: 64, by: 2).compactMap { offset in
        UInt8(String(decoding: digits[offset..<offset + 2], as: UTF8.self), radix: 16)
      }
    }
  }
}
