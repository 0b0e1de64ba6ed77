import Foundation
import KistClient
import KistTesting
import Subprocess
import Testing

/// A small file that kistd reads.
enum SmallFile: String, CaseIterable, Sendable {
  case pin, key, storeLock

  func path(in home: Home) -> String {
    switch self {
    case .pin: home.path + "/.local/state/kist/storage"
    case .key: home.keyFile
    case .storeLock: home.store + ".lock"
    }
  }
}

/// What replaces the small file.
enum Replacement: String, CaseIterable, Sendable {
  case fifo, folder, link, otherUsers, large

  /// The error's text about it, or `nil` if it is not an error.
  func clause(of file: SmallFile) -> String? {
    switch (self, file) {
    case (.fifo, _), (.folder, _): "is not a regular file"
    case (.link, _): "is a symbolic link"
    case (.otherUsers, _): "belongs to another user"
    case (.large, .pin): "does not name the storage that kistd uses"
    case (.large, .key): "has 1048576 bytes"
    // The content of a lock file only informs.
    case (.large, .storeLock): nil
    }
  }

  func put(at path: String) throws {
    let manager = FileManager.default
    try manager.moveItem(atPath: path, toPath: path + ".moved")
    switch self {
    case .fifo: try #require(unsafe mkfifo(path, 0o600) == 0)
    case .folder: try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
    case .link: try manager.createSymbolicLink(atPath: path, withDestinationPath: path + ".moved")
    case .otherUsers:
      try manager.copyItem(atPath: path + ".moved", toPath: path)
      try #require(unsafe chown(path, 65534, 65534) == 0)
    case .large:
      try Data(repeating: 0x61, count: 1 << 20).write(to: URL(filePath: path))
      try manager.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
  }
}

@Suite(.timeLimit(.minutes(3)), .needsRoot("to give files away"))
struct `A replaced pin, key or lock file` {
  /// Creates a store with a credential, and with it the pin.
  private func fill(_ home: Home) async throws {
    let end = try await command(
      "kistd", ["--", "kist", "save", "s", "a"], in: home, input: "hunter2")
    try #require(end.status == .exited(0), "\(end.error)")
  }

  @Test(arguments: SmallFile.allCases, Replacement.allCases)
  func `is refused at once, named and left unchanged`(
    file: SmallFile, replacement: Replacement
  ) async throws {
    guard let clause = replacement.clause(of: file) else { return }
    try await withHome { home in
      try await fill(home)
      let path = file.path(in: home)
      try replacement.put(at: path)
      let number = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber]
      for words in [
        ["kistd", "--", "true"], ["kistd", "probe"], ["kistd", "rekey"], ["kist", "doctor"],
      ] {
        // If it blocks, timeout(1) kills it.
        let end = try await command("timeout", ["-s", "KILL", "20"] + words, in: home)
        let said = end.output + end.error
        #expect(end.status != .exited(0) && end.status != .exited(137), "\(words)")
        #expect(said.contains("\(path) \(clause)"), "\(words): \(said)")
      }
      let after = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber]
      #expect(after as? Int == number as? Int)
    }
  }

  @Test(arguments: ["served", "served.users"], Replacement.allCases.filter { $0 != .large })
  func `of a served storage is refused by a start, a probe and the doctor`(
    name: String, replacement: Replacement
  ) async throws {
    try await withHome { home in
      try await fill(home)
      let path = home.path + "/.local/state/kist/" + name
      try replacement.put(at: path)
      let clause = try #require(replacement.clause(of: .storeLock))
      for words in [["kistd", "--", "true"], ["kistd", "probe"], ["kist", "doctor"]] {
        let end = try await command("timeout", ["-s", "KILL", "20"] + words, in: home)
        let said = end.output + end.error
        #expect(end.status != .exited(0) && end.status != .exited(137), "\(words)")
        #expect(said.contains("\(path) \(clause)"), "\(words): \(said)")
      }
    }
  }

  @Test func `does not block kistd after SIGHUP or at exit if it is a FIFO`() async throws {
    try await withHome { home in
      try await fill(home)
      // Without a terminal, as in a service, kistd opens the storage again on SIGHUP.
      let end = try await command(
        "setsid",
        [
          "--wait", "sh", "-c",
          """
          kistd & kistd=$!
          for try in $(seq 2000); do kist status > /dev/null 2>&1 && break; done
          rm "$HOME/.local/state/kist/storage"; mkfifo "$HOME/.local/state/kist/storage"
          kill -HUP $kistd
          for try in $(seq 2000); do timeout -s KILL 20 kist load s a 2>&1 || break; done
          kill -TERM $kistd
          timeout 20 tail --pid=$kistd -f /dev/null || kill -KILL $kistd
          wait $kistd; echo "ended with $?"
          """,
        ], in: home)
      #expect(end.output.contains("storage is not a regular file"), "\(end.output)\(end.error)")
      #expect(end.output.contains("ended with 0"), "\(end.output)\(end.error)")
    }
  }
}
