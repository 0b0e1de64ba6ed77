import KistCore
import KistTesting
import KistWire
import Synchronization
import Testing

/// Seals nothing, and records the text that the names are bound to.
private let open = NameSeal(
  begin: {
    { names, text, sealed in
      sealed.append(utf8: "\(names.service ?? "-")/\(names.account ?? "-")")
      sealed.append(0 as UInt8)
      sealed.append(text)
    }
  },
  open: { sealed, text throws(StorageError) in
    let parts = sealed.indices.map { sealed[$0] }.split(separator: 0, maxSplits: 1)
    guard parts.count == 2, parts[1].elementsEqual(text.indices.map { text[$0] }) else {
      throw StorageError(.corrupt, "bound to something else")
    }
    let names = String(decoding: parts[0], as: UTF8.self).split(separator: "/").map {
      $0 == "-" ? nil : String($0)
    }
    return RequestedNames(service: names[0], account: names[1])
  })

@Suite(.timeLimit(.minutes(10))) struct `A line of the audit log` {
  private let record = AuditRecord(
    moment: .init(second: .sample, milliseconds: 42),
    event: .request(
      AuditedRequest(
        operation: "load", failure: .notFound, microseconds: 12,
        peer: AuditedPeer(
          pid: 1, uid: 2, unit: "a\n.service", claimedName: "\u{1B}[2J", evidence: .pid))))

  private func text(_ names: RequestedNames?, _ seal: NameSeal?) -> String {
    guard case .request(let request) = record.event else { return "" }
    var note = RequestNotes.Note()
    note.operation = request.operation ?? ""
    note.failure = request.failure
    note.end = Int64(request.microseconds) * 1000
    note.names = names
    var lines = AuditLineWriter(capacity: 512, sealedBy: seal)
    lines.append(note, of: AuditLineWriter.Client(request.peer), at: record.moment)
    return String(decoding: lines.block.text, as: UTF8.self)
  }

  @Test(arguments: [
    RequestedNames(service: "s", account: "a"), RequestedNames(service: nil, account: "a"),
    RequestedNames(service: "s", account: nil),
  ])
  func `is read back, with the names that were sealed`(names: RequestedNames) throws {
    let line = text(names, open)
    #expect(line.hasSuffix("\"}\n"))
    #expect(line.split(separator: "\n").count == 1)
    let content = try #require(ParsedAuditLine(Secret(utf8: String(line.dropLast()))))
    #expect(content.record == record)
    #expect(content.hasNames)
    #expect(try content.names(openedBy: open) == names)
  }

  @Test func `has no names where there are none, or nothing seals them`() throws {
    let sealsNothing = NameSeal(begin: { nil }, open: open.open)
    for line in [
      text(nil, open), text(RequestedNames(.sample), nil),
      text(RequestedNames(.sample), sealsNothing),
    ] {
      #expect(!line.contains("names"))
      let content = try #require(ParsedAuditLine(Secret(utf8: String(line.dropLast()))))
      #expect(content.record == record)
      #expect(try content.names(openedBy: open) == nil)
    }
  }

  @Test func `with other text changed does not open`() throws {
    let line = String(text(RequestedNames(.sample), open).dropLast())
    for changed in [
      line.replacing("\"pid\":1", with: "\"pid\":7"), line.replacing("notFound", with: "locked"),
      line.dropLast() + #","pid2":1}"#, line.replacing(",\"names\"", with: " ,\"names\""),
    ] {
      let content = try #require(ParsedAuditLine(Secret(utf8: String(changed))))
      #expect(throws: StorageError.self) { try content.names(openedBy: open) }
    }
  }

  @Test func `has the program for which the request was made, before the names`() async throws {
    let kept = KeptNotes()
    let line =
      #"{"op":"load","service":"s","account":"a","onBehalfOf":{"program":"gh","pid":42,"unit":"a.scope"}}"#
    _ = await answer(with: dispatch(.stub(.inMemory())), noting: kept.notes)(Line(line))
    guard case .request(var request) = record.event else { return }
    var lines = AuditLineWriter(capacity: 512, sealedBy: open)
    lines.append(kept.all[0], of: AuditLineWriter.Client(request.peer), at: record.moment)
    let text = String(decoding: lines.block.text, as: UTF8.self)
    #expect(
      text.contains(
        #""evidence":"pid","onBehalfOf":{"program":"gh","pid":42,"unit":"a.scope"},"names":""#))
    let content = try #require(ParsedAuditLine(Secret(utf8: String(text.dropLast()))))
    request.microseconds = 0
    request.onBehalfOf = ClaimedProgram(program: "gh", pid: 42, unit: "a.scope")
    #expect(content.record.event == .request(request))
    #expect(
      try content.names(openedBy: open) == RequestedNames(service: "s", account: "a"))
  }

  @Test(arguments: [
    "", "{}", "null", "[]", #"{"time":"2026-11-20T10:00:00.007Z"}"#,
    #"{"time":"2026-11-20T10:00:00Z","lost":1}"#, #"{"time":"2026-11-20T10:00:00.+07Z","lost":1}"#,
    #"{"time":"yesterday","lost":1}"#, #"{"time":"2026-11-20T10:00:00.007Z","lost":"1"}"#,
    #"{"time":"2026-11-20T10:00:00.007Z","outcome":"ok","microseconds":1,"pid":"1","uid":1,"evidence":"pid"}"#,
    #"{"time":"2026-11-20T10:00:00.007Z","lost":1"#,
  ])
  func `is not read from any other text`(line: String) {
    #expect(ParsedAuditLine(Secret(utf8: line)) == nil)
  }

  @Test func `whose names are not base64 has no names`() throws {
    let line = #"{"time":"2026-11-20T10:00:00.007Z","lost":1,"names":"?"}"#
    let content = try #require(ParsedAuditLine(Secret(utf8: line)))
    #expect(!content.hasNames)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The audit note of a request` {
  /// What is noted while a line is answered.
  private func note(_ line: String, _ storage: UserStorage = .inMemory()) async -> (
    RequestNotes.Note, reply: String
  ) {
    let kept = KeptNotes()
    let reply = await answer(with: dispatch(.stub(storage)), noting: kept.notes)(Line(line)).text
    #expect(kept.all.count == 1)
    return (kept.all[0], reply)
  }

  @Test(
    arguments: [
      (#"{"op":"save","service":"s","account":"a","secret":"x"}"#, "save", "s", "a", nil),
      (#"{"op":"load","service":"s"}"#, "load", "s", "", .notFound),
      (#"{"op":"delete","service":"s","account":"a"}"#, "delete", "s", "a", nil),
      (#"{"op":"find","account":"a"}"#, "find", nil, "a", nil),
      (#"{"op":"find"}"#, "find", nil, nil, nil),
      (#"{"op":"status"}"#, "status", nil, nil, nil),
      (#"{"op":"hello"}"#, "hello", nil, nil, nil),
      (#"{"op":"load","service":"s","account":1}"#, "load", nil, nil, .badRequest),
      (#"{"op":"load","service":"s","account":"a","color":1}"#, "load", "s", "a", .badRequest),
      (#"{"op":"steal","service":"s"}"#, "", nil, nil, .unknownOperation),
      (#"{"service":"s"}"#, "", nil, nil, .badRequest), ("x", "", nil, nil, .badRequest),
      (
        #"{"op":"save","service":"","secret":"x"}"#, "save", "", "", .badRequest
      ),
    ] as [(String, String, String?, String?, StorageError.Code?)])
  func `has its operation, its names and its error`(
    line: String, operation: String, service: String?, account: String?, code: StorageError.Code?
  ) async {
    let (note, reply) = await note(line)
    #expect(note.operation == operation)
    #expect(
      note.names ?? RequestedNames(service: nil, account: nil)
        == RequestedNames(service: service, account: account))
    #expect(note.failure == code)
    #expect(reply.hasPrefix(code == nil ? #"{"ok":true"# : #"{"ok":false"#))
  }

  @Test func `has nothing of the request before`() async {
    let kept = KeptNotes()
    let answer = answer(with: dispatch(.stub(.inMemory())), noting: kept.notes)
    _ = await answer(Line(#"{"op":"load","service":"s","account":"a"}"#))
    _ = await answer(Line(#"{"op":"status"}"#))
    #expect(kept.all.map(\.operation) == ["load", "status"])
    #expect(kept.all.map(\.failure) == [.notFound, nil])
    #expect(kept.all[1].names == nil)
    #expect(kept.all.map(\.start) == [1, 3])
    #expect(kept.all.map(\.end) == [2, 4])
  }

  @Test func `reports a reply that does not fit into a line`() async throws {
    let storage = UserStorage.inMemory()
    let secret = Secret(copying: [UInt8](repeating: 0x01, count: Limits.secret))
    try await storage.save(NewCredential(key: .sample, secret: secret))
    let (note, _) = await note(
      #"{"op":"load","service":"example.org","account":"alice","encoding":"text"}"#, storage)
    #expect(note.failure == .tooLarge)
    #expect(note.names == RequestedNames(.sample))
  }

  @Test(arguments: [0, -1, 1001])
  func `a page size outside the limits is refused`(limit: Int) async {
    let (note, _) = await note(#"{"op":"audit","limit":\#(limit)}"#)
    #expect(note.failure == .badRequest)
  }

  @Test func `without a log, audit is unavailable`() async {
    let (note, reply) = await note(#"{"op":"audit"}"#)
    #expect(note.failure == .unavailable)
    #expect(reply.contains("keeps no audit log"))
  }
}

/// Keeps all notes, by a clock that is looked at once a tick.
private final class KeptNotes: Sendable {
  private struct State {
    var ticks: Int64 = 0
    var notes: [RequestNotes.Note] = []
  }

  private let state = Mutex(State())

  var all: [RequestNotes.Note] { state.withLock { $0.notes } }

  var notes: RequestNotes {
    RequestNotes(
      now: { [self] in
        state.withLock { state in
          state.ticks += 1
          return state.ticks
        }
      },
      whenAnswered: { [self] note in state.withLock { $0.notes.append(note) } })
  }
}
