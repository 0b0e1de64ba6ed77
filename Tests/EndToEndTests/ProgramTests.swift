import Foundation
import KistClient
import Subprocess
import Testing

@Suite(.timeLimit(.minutes(10))) struct `kist and kistd` {
  private let saveLine = #"{"op":"save","service":"s","account":"a","secret":"hunter2"}"#
  private let loadLine = #"{"op":"load","service":"s","account":"a"}"#

  @Test func `kist loads a secret that it saved before a restart of kistd`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { _ in
        let saved = try await command("kist", ["save", "s", "a"], in: home, input: "hunter2\n")
        #expect(saved.status == .exited(0), "\(saved.error)")
      }
      try await withDaemon(in: home) { _ in
        let loaded = try await command("kist", ["load", "s", "a"], in: home)
        #expect(loaded.status == .exited(0), "\(loaded.error)")
        #expect(loaded.output == "hunter2")
      }
    }
  }

  @Test func `socat and kist see the same credentials`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { _ in
        let reply = try await command(
          "socat", ["-t", "30", "-", "UNIX:\(home.socket)"], in: home,
          input: saveLine + "\n" + loadLine + "\n")
        let lines = reply.output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.hasPrefix(#"{"ok":true"#) })
        #expect(lines.last?.contains(#""secret":"hunter2""#) == true)
        let listed = try await command("kist", ["list"], in: home)
        #expect(listed.output.contains("s"))
        #expect(!listed.output.contains("hunter2"))
      }
    }
  }

  @Test(arguments: 0..<24)
  func `kistd exits with 64 if the passphrase descriptor is closed, and creates no file`(
    _ number: Int
  ) async throws {
    try await withHome { home in
      let end = try await command(
        "bash", ["-c", "exec kistd --passphrase-fd \(number) \(number)>&-"], in: home)
      #expect(end.status == .exited(64), "\(end.error)")
      let made = try FileManager.default.subpathsOfDirectory(atPath: home.path)
      #expect(made == ["run"])
    }
  }

  // A misspelled directory usually has no store.
  @Test func `kistd with a short passphrase and no store reports the path without a store`()
    async throws
  {
    try await withHome { home in
      let end = try await command(
        "kistd", ["--data", home.path + "/typo", "--passphrase-fd", "0", "--", "true"], in: home,
        input: "horse")
      #expect(end.status == .exited(64))
      let path = home.path + "/typo/credentials.db"
      let reason = "kistd found no store at \(path), and the new passphrase has fewer than 8 bytes"
      #expect(end.error.hasPrefix("kistd: \(reason)\n"), "\(end.error)")
      #expect(!FileManager.default.fileExists(atPath: home.path + "/typo"))
    }
  }

  // Swift stores short strings differently; optimised code has confused them with long ones before.
  @Test func `names of 1 to 40 bytes come back unchanged`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        let storage = daemon.connect()
        var saved: [CredentialSummary] = []
        for length in 1...40 {
          let text = String((0..<length).map { _ in "abcdefghijklmnopqrstuvwxyz".randomElement()! })
          let summary = try await storage.save(
            NewCredential(
              key: CredentialKey(service: text, account: String(text.dropFirst())),
              secret: Secret(utf8: text), label: text, attributes: [text: text]))
          #expect(summary.key.service == text)
          #expect(summary.label == text)
          #expect(summary.attributes[text] == text)
          let loaded = try await storage.load(summary.key)
          #expect(loaded == Credential(summary: summary, secret: Secret(utf8: text)))
          saved.append(summary)
        }
        let found = try await storage.findAll()
        #expect(found.sorted { $0.key < $1.key } == saved.sorted { $0.key < $1.key })
      }
    }
  }

  @Test func `kistd exits with 0 on SIGTERM under load and leaves no write-ahead log`() async throws
  {
    try await withHome { home in
      let end = try await withDaemon(in: home) { daemon in
        let storage = daemon.connect()
        await withTaskGroup { group in
          for number in 0..<50 {
            group.addTask {
              let credential = NewCredential(
                key: CredentialKey(service: "busy", account: "\(number)"), secret: Secret(utf8: "x")
              )
              do throws(StorageError) { try await storage.save(credential) } catch {
                #expect(error.code == .unavailable)
              }
            }
          }
          daemon.send(.terminate)
        }
      }
      #expect(end.status == .exited(0), "\(end.log)")
      let left = try FileManager.default.contentsOfDirectory(
        atPath: (home.store as NSString).deletingLastPathComponent)
      #expect(!left.contains("credentials.db-wal"), "a clean close leaves no write-ahead log")
    }
  }

  @Test func `a second kistd on the same socket fails and names the running one`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        let second = try await command("kistd", in: home)
        #expect(second.status != .exited(0))
        #expect(second.error.contains("\(daemon.processIdentifier)"), "\(second.error)")
        #expect(try await command("kist", ["status"], in: home).status == .exited(0))
      }
    }
  }

  @Test func `a second kistd on the same store fails and names the running one`() async throws {
    try await withHome { home in
      try await withDaemon(in: home) { daemon in
        let second = try await command(
          "kistd", ["--socket", home.path + "/other/s.sock"], in: home)
        #expect(second.status != .exited(0))
        #expect(second.error.contains("\(daemon.processIdentifier)"), "\(second.error)")
      }
    }
  }

  @Test func `kistd serves while its command runs and exits with the status of the command`()
    async throws
  {
    try await withHome { home in
      let script = "printf pw | kist save s && kist load s && exit 42"
      let end = try await command("kistd", ["--", "sh", "-c", script], in: home)
      #expect(end.status == .exited(42), "\(end.error)")
      #expect(end.output.hasSuffix("pw"))
    }
  }

  @Test(arguments: ["", "\n", "\r\n"])
  func `kistd and kist read the same passphrase from a file, with or without a newline`(
    newline: String
  ) async throws {
    try await withHome { home in
      try Data("open sesame\(newline)".utf8).write(to: URL(filePath: home.path + "/pw"))
      let script = """
        exec kistd --passphrase-fd 3 3<~/pw -- \
          sh -c 'printf x | kist save s && kist lock && kist unlock <~/pw && kist load s'
        """
      let end = try await command("sh", ["-c", script], in: home)
      #expect(end.status == .exited(0), "\(end.error)")
      #expect(end.output.hasSuffix("x"))
    }
  }

  @Test func `kist fails and mentions kistd if kistd does not run`() async throws {
    try await withHome { home in
      let end = try await command("kist", ["load", "s"], in: home)
      #expect(end.status == .exited(7))
      #expect(end.output.isEmpty)
      #expect(end.error.contains("kistd"))
    }
  }

  @Test(arguments: [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
  func `kist reports separately that a change succeeded but its output cannot be written`(
    redirection: String, reason: String
  ) async throws {
    try await withHome { home in
      try await withDaemon(in: home) { _ in
        let save = "printf pw | kist save s --json " + redirection
        for script in [save, "kist load s " + redirection, "kist list " + redirection] {
          let end = try await command("sh", ["-c", script], in: home)
          #expect(end.status == .exited(1), "\(script)")
          #expect(end.error.contains("standard output could not be written: \(reason)"))
          #expect(end.error.contains("was carried out"))
        }
        #expect(try await command("kist", ["load", "s"], in: home).output == "pw")
      }
    }
  }

  @Test(arguments: ["status", "list --json", "load s", "audit", "doctor", "setup git", "--help"])
  func `kist prints nothing if its reader has ended, even where SIGPIPE is ignored`(
    line: String
  ) async throws {
    try await withHome { home in
      try await withDaemon(in: home) { _ in
        let script = """
          mkfifo ~/pipe; (exec <~/pipe; :) & reader=$!
          exec 3>~/pipe; wait $reader; trap '' PIPE
          printf pw | kist save s; kist \(line) >&3
          """
        let end = try await command("bash", ["-c", script], in: home)
        #expect(end.error == "")
        #expect(end.status == .exited(128 + SIGPIPE) || line == "--help", "\(end.status)")
      }
    }
  }

  @Test func `the log contains no data from requests, even at level trace`() async throws {
    try await withHome { home in
      let end = try await withDaemon(in: home, ["--log-level", "trace"]) { _ in
        let bad = #"{"op":"save","service":"canary-s","secret":"canary-p","nonsense":"canary-n"}"#
        let lines = [
          saveLine.replacingOccurrences(of: "hunter2", with: "canary-w"), bad, "canary-x",
        ]
        _ = try await command(
          "socat", ["-t", "30", "-", "UNIX:\(home.socket)"], in: home,
          input: lines.joined(separator: "\n"))
      }
      #expect(!end.log.isEmpty)
      #expect(!end.log.contains("canary"), "\(end.log)")
    }
  }
}
