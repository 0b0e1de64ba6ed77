import Foundation
import KistCore
import KistTesting
import KistWire
import Testing

struct DocumentTests {
  @Test func `the examples of the document are what is answered`() async throws {
    let clock = ManualClock()
    let storage = LockableStorage(now: clock.now)
    let dispatch = dispatch(
      storage.credentials, storage.access, documentedSlots, documentedBackups,
      audit: AuditAccess(find: { _ in documentedPage }, verify: { documentedVerdict }),
      hello: Hello(version: "1.0.0", durability: .disk))
    let answer = answer(with: { dispatch($0) ?? watching(storage.watch) { _ in } })
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

  @Test func `the document names every operation and every code`() async throws {
    let document = try document()
    for operation in try await Hello.ask(service()).operations {
      #expect(document.contains(try Regex("\n### (\\w+, )*\(operation)[,\n]")))
    }
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

/// What stands in the document as a page of the audit log.
private let documentedPage = AuditPage(
  records: [
    AuditRecord(
      moment: .init(second: .sample, milliseconds: 7),
      event: .request(
        AuditedRequest(
          operation: "load", failure: nil, microseconds: 23,
          peer: AuditedPeer(
            pid: 4242, uid: 1000, unit: "session-2.scope", claims: "kist", evidence: .pidfd),
          names: .open(RequestedNames(service: "github.com", account: "alice")))))
  ], next: "131-4096")

/// What stands there as what a check of it found.
private let documentedVerdict: AuditVerdict = {
  var verdict = AuditVerdict()
  verdict.verified = 1200
  verdict.unchained = 14
  verdict.since = .init(second: .sample, milliseconds: 7)
  verdict.until = .init(second: .sample.advanced(bySeconds: 3600)!, milliseconds: 0)
  verdict.fault = AuditVerdict.Fault(.removed, file: "audit.jsonl", lines: 1215...1218, count: 3)
  return verdict
}()

private func document() throws -> String {
  let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  return try String(contentsOf: root.appending(path: "docs/protocol.md"), encoding: .utf8)
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
