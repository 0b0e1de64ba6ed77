import KistCommands
import KistCore
import KistTerminal
import KistTesting
import KistWire
import Testing

@Suite struct `The table of the audit log` {
  @Test(arguments: [
    (60, "TIME OPERATION OUTCOME SERVICE ACCOUNT PROGRAM"),
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
      try await (command as? any RequiresAuditLog)?.perform(longestLines, terminal)
    }
    #expect(status == 0)
    let lines = recorder.output.split(separator: "\n")
    #expect(lines.first?.split(separator: " ").joined(separator: " ") == heading)
    if width >= 80 { for line in lines { #expect(String(line).terminalWidth <= width, "\(line)") } }
  }
}

/// Lines with the longest of what cannot be shortened.
private let longestLines: AuditLookup = { _ throws(StorageError) in
  let peer = AuditedPeer(
    pid: 4_194_304, uid: 1000, unit: "some-application-of-a-desktop.scope",
    claims: "a-long-program-name", evidence: .pidfd)
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
