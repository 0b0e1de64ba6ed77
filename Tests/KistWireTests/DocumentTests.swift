import Foundation
import KistCore
import KistTesting
import Testing

@testable import KistWire

@Suite(.timeLimit(.minutes(5))) struct DocumentTests {
  @Test func `the server answers as the examples of the document say`() async throws {
    let clock = ManualClock()
    let storage = LockableStorage(now: clock.now)
    let answer = answer(
      with: dispatch(
        Endpoints(
          storage.credentials, storage.access, documentedSlots, documentedBackups,
          audit: AuditAccess(find: { _ in documentedPage }, verify: { documentedVerdict }),
          watch: storage.watch, hello: { Hello(version: "1.0.0", durability: .disk) })))
    var epoch = "k3f9."
    let examples = try documentedExchanges()
    #expect(examples.count > 20)
    for example in examples {
      let request = example.request.replacing("k3f9.", with: epoch)
      let reply = await answer(Line(request)).text
      if let found = reply.firstMatch(of: /"revision":"([^.]+\.)/) { epoch = String(found.1) }
      #expect(reply.replacing(epoch, with: "k3f9.") == example.reply)
      clock.advance(bySeconds: 60)
    }
  }

  @Test
  func `the document has a row and a section for every operation, as the source describes it`()
    throws
  {
    let document = try document()
    let rows = document.matches(of: /\n\| \[`(\w+)`\]\(#[\w-]+\) \| ([\w ]+) \| (.+) \|/)
    #expect(rows.map { String($0.1) } == OperationRow.all.map(\.name))
    #expect(rows.map { String($0.2) } == OperationRow.all.map(\.effect.documented))
    let sources = try operationSources()
    for (_, name, _, description) in rows.map(\.output) {
      #expect(document.contains(try Regex("\n### (\\w+, )*\(name)[,\n]")))
      #expect(
        sources.contains(
          try Regex("/// \(description)\n(  ///.*\n)*  static var \(name): Self")))
    }
  }

  @Test func `the document names every code`() throws {
    let document = try document()
    for code in StorageError.Code.allCases { #expect(document.contains("| `\(code.rawValue)`")) }
  }
}

/// A file with one passphrase, as the document has it.
private let documentedSlots = KeySlots(
  list: { () throws(StorageError) in [.passphrase(1)] },
  add: { _ throws(StorageError) in [.passphrase(2)] },
  remove: { _ throws(StorageError) in
    throw StorageError(
      .badRequest, "this is the only key slot", hint: "add another one first")
  })

/// One that takes a while, and whose last part has four bytes, as the document has it.
private let documentedBackups = Backups(
  make: { request throws(StorageError) in
    if case .begin = request { return .copied(1, of: 2, id: "4f1d9c02") }
    return .made(Backup(id: "4f1d9c02", size: 16384, count: 2))
  },
  read: { _ throws(StorageError) in Secret(copying: [0, 1, 2, 3]) })

extension KeySlotSummary {
  fileprivate static func passphrase(_ number: Int) -> KeySlotSummary {
    KeySlotSummary(number: number, kind: .passphrase, passes: 3, kibibytes: 262_144)
  }
}

/// The page of the audit log in the document.
private let documentedPage = AuditPage(
  records: [
    AuditRecord(
      moment: .init(second: .sample, milliseconds: 7),
      event: .request(
        AuditedRequest(
          operation: "load", failure: nil, microseconds: 23,
          peer: AuditedPeer(
            pid: 4242, uid: 1000, unit: "session-2.scope", claimedName: "kist", evidence: .pidfd),
          names: .open(RequestedNames(service: "github.com", account: "alice")))))
  ], next: "131-4096")

/// The result of a check in the document.
private let documentedVerdict: AuditVerdict = {
  var verdict = AuditVerdict()
  verdict.verified = 1200
  verdict.unchained = 14
  verdict.since = .init(second: .sample, milliseconds: 7)
  verdict.until = .init(second: .sample.advanced(bySeconds: 3600)!, milliseconds: 0)
  verdict.fault = AuditVerdict.Fault(.removed, file: "audit.jsonl", lines: 1215...1218, count: 3)
  return verdict
}()

extension OperationEffect {
  fileprivate var documented: String {
    switch self {
    case .none: "none"
    case .backup: "makes or discards a backup"
    case .access: "locks or unlocks"
    case .change: "changes"
    }
  }
}

private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent()

private func document() throws -> String {
  try String(contentsOf: root.appending(path: "docs/protocol.md"), encoding: .utf8)
}

private func operationSources() throws -> String {
  let folder = root.appending(path: "Sources/KistWire/Operations")
  let files = try FileManager.default.contentsOfDirectory(
    at: folder, includingPropertiesForKeys: nil)
  return try files.map { try String(contentsOf: $0, encoding: .utf8) }.joined()
}

/// The lines of the code blocks that are marked `session`, in pairs.
private func documentedExchanges() throws -> [(request: String, reply: String)] {
  var lines: [Substring] = []
  for block in try document().components(separatedBy: "```session\n").dropFirst() {
    lines += block.components(separatedBy: "```")[0].split(separator: "\n")
  }
  return try stride(from: 0, to: lines.count, by: 2).map { index in
    try #require(lines[index].hasPrefix("> ") && lines[index + 1].hasPrefix("< "))
    return (String(lines[index].dropFirst(2)), String(lines[index + 1].dropFirst(2)))
  }
}
