import KistCore
import KistTerminal
import KistTesting
import KistWire
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `The table of the audit log` {
  @Test(arguments: [
    (40, "TIME OPERAT… OUTCOME SERVICE"),
    (60, "TIME OPERATION OUTCOME SERVICE"),
    (72, "TIME OPERATION OUTCOME SERVICE ACCOUNT"),
    (80, "TIME OPERATION OUTCOME SERVICE ACCOUNT PROGRAM"),
    (90, "TIME OPERATION OUTCOME SERVICE ACCOUNT PROGRAM PID"),
    (200, "TIME OPERATION OUTCOME SERVICE ACCOUNT UNIT PROGRAM PID"),
  ])
  func `fits into the terminal, with as many columns as that has room for`(
    width: Int, heading: String
  ) async {
    let recorder = Recorder()
    var terminal = recorder.terminal(isTerminal: true)
    terminal.outputWidth = width
    let status = await Kist.status(of: ["audit"], on: terminal) { [terminal] command in
      try await (command as? any RequiresAuditLog)?.perform(
        AuditAccess(find: longestLines, verify: AuditAccess.none.verify), terminal)
    }
    #expect(status == 0)
    let lines = recorder.output.split(separator: "\n")
    #expect(lines.first?.split(separator: " ").joined(separator: " ") == heading)
    for line in lines { #expect(String(line).terminalWidth <= width, "\(line)") }
  }

  @Test func `names the program for which an adapter asked, with control characters escaped`()
    async
  {
    let claim = ClaimedProgram(program: "g\u{1B}h", pid: 42, unit: "gh.scope")
    for (isTerminal, end) in [
      (true, "kist-secret g\\u{1b}h 977"), (false, "pidfd\t\t\tg\\u{1b}h\t42\tgh.scope"),
    ] {
      let recorder = Recorder()
      let terminal = recorder.terminal(isTerminal: isTerminal)
      _ = await Kist.status(of: ["audit"], on: terminal) { [terminal] command in
        try await (command as? any RequiresAuditLog)?.perform(
          AuditAccess(
            find: { _ in
              let peer = AuditedPeer(
                pid: 977, uid: 7, unit: nil, claimedName: "kist-secret", evidence: .pidfd)
              let request = AuditedRequest(
                operation: "status", failure: nil, microseconds: 1, peer: peer, onBehalfOf: claim)
              let moment = AuditRecord.Moment(second: .sample, milliseconds: 0)
              return AuditPage(records: [AuditRecord(moment: moment, event: .request(request))])
            }, verify: AuditAccess.none.verify), terminal)
      }
      let line = recorder.output.split(separator: "\n").last ?? ""
      let words = isTerminal ? line.split(separator: " ").joined(separator: " ") : String(line)
      #expect(words.hasSuffix(end), "\(recorder.output)")
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A check of the audit log` {
  @Test func `says what is missing, and ends with the status of what is corrupt`() async {
    let (output, error, status) = await run("audit", "--verify")
    #expect(
      output == """
        verified 4 lines from 2026-11-20T10:00:00.007Z to 2026-11-20T10:00:40.007Z
        1 line without a chain: kistd had no key, or another program wrote it.
        kist could not check 12 earlier lines: their chain is of another key, or was changed.

        """)
    #expect(
      error == """
        kist: audit.jsonl: 3 lines are missing at or before line 19
        hint: The verified lines before it are unchanged. Later lines were not checked.

        """)
    #expect(status == 10)
  }

  @Test func `fits a terminal of 40 columns`() async {
    let recorder = Recorder()
    let terminal = recorder.terminal(isTerminal: true, width: 40)
    _ = await Kist.status(of: ["audit", "--verify"], on: terminal) { command in
      try await (command as? any RequiresAuditLog)?.perform(sampleAuditLog, terminal)
    }
    #expect(recorder.output.hasPrefix("ok: verified 4 lines from\n2026-"))
    for line in recorder.output.split(separator: "\n") {
      #expect(String(line).terminalWidth <= 40, "\(line)")
    }
  }

  @Test func `as JSON is the reply of the protocol`() async {
    let (output, _, status) = await run("audit", "--verify", "--json")
    #expect(output.hasPrefix(#"{"verified":4,"unchained":1,"unchecked":12,"#))
    #expect(output.hasSuffix(#""first":18,"last":19,"count":3}}"# + "\n"))
    #expect(status == 10)
  }

  @Test(
    arguments: [
      (.changed, 2...2, nil, "a line was changed at line 2"),
      (.changed, 4...7, nil, "a line was changed among lines 4 to 7"),
      (.removed, 1...1, nil, "lines are missing at or before line 1"),
      (.removed, 12...12, 1, "1 line is missing at or before line 12"),
      (.added, 9...10, 1, "1 line was added among lines 9 to 10"),
      (.added, 11...11, nil, "lines were added at line 11"),
      (.cut, 9...9, 2, "2 lines are missing after line 9"),
      (
        .tooLarge, 1...1, nil,
        "kistd did not read this file, which is larger than `--audit` allows"
      ),
    ] as [(AuditVerdict.Kind, ClosedRange<Int>, Int?, String)])
  func `names the file and the place`(
    kind: AuditVerdict.Kind, lines: ClosedRange<Int>, count: Int?, text: String
  ) async {
    var verdict = AuditVerdict()
    verdict.fault = .init(kind, file: "audit.jsonl", lines: lines, count: count)
    let (_, error, _) = await run("audit", "--verify", log: .verified(verdict))
    #expect(error.hasPrefix("kist: audit.jsonl: \(text)\n"))
    // kist checked no earlier line.
    #expect(!error.contains("Earlier lines"))
    #expect(error.contains("Later lines were not checked.") == (kind != .cut))
  }

  @Test func `says that no line uses the current key`() async {
    var verdict = AuditVerdict()
    verdict.unchecked = 1
    let (output, error, status) = await run("audit", "--verify", log: .verified(verdict))
    #expect(
      output == """
        ok: no line uses the current key
        kist could not check 1 earlier line: its chain is of another key, or was changed.

        """)
    #expect(error == "")
    #expect(status == 0)
  }

  @Test(arguments: [[], ["--json"]])
  func `is advised where lines were skipped`(options: [String]) async {
    let (_, error, status) = await run(["audit"] + options)
    #expect(error.contains("skipped 2 lines of the log that kistd did not write"))
    #expect(error.contains("kist audit --verify"))
    #expect(status == 0)
  }

  private func run(
    _ arguments: String..., log: AuditAccess = cutAuditLog
  ) async -> (String, String, CInt) {
    await run(arguments, log: log)
  }

  private func run(
    _ arguments: [String], log: AuditAccess = cutAuditLog
  ) async -> (String, String, CInt) {
    let recorder = Recorder()
    let terminal = recorder.terminal()
    let status = await Kist.status(of: arguments, on: terminal) { command in
      try await (command as? any RequiresAuditLog)?.perform(log, terminal)
    }
    return (recorder.output, recorder.error, status)
  }
}

extension AuditAccess {
  fileprivate static func verified(_ verdict: AuditVerdict) -> AuditAccess {
    AuditAccess(find: AuditAccess.none.find, verify: { () throws(StorageError) in verdict })
  }
}

/// Lines with the longest of what cannot be shortened.
private let longestLines: AuditLookup = { _ throws(StorageError) in
  let peer = AuditedPeer(
    pid: 4_194_304, uid: 1000, unit: "some-application-of-a-desktop.scope",
    claimedName: "a-long-program-name", evidence: .pidfd)
  let names = RequestedNames(service: "a-long-service.example", account: "alice@mail.example")
  return AuditPage(
    records: [StorageError.Code.wrongPassphrase, .unknownOperation].map { failure in
      AuditRecord(
        moment: AuditRecord.Moment(second: .sample, milliseconds: 7),
        event: .request(
          AuditedRequest(
            operation: "slotRemove", failure: failure, microseconds: 17, peer: peer,
            names: .open(names))))
    }, next: nil)
}
