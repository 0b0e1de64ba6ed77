internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Audit: RequiresAuditLog {
  static let configuration = CommandConfiguration(
    abstract: "Show which programs asked kistd for what.",
    usage: "kist audit [options]",
    discussion: """
      On a terminal, prints a table. Otherwise prints lines of time, operation, outcome, \
      microseconds, pid, uid, unit, program, evidence, service and account, separated by tabs. \
      A request of an adapter also has the program, pid and unit that it was made for. The oldest \
      request is first. A program can choose the name that is shown.

        kist audit --since 1h \\
          --outcome denied

      --verify checks whether lines were changed, removed or added. It reports the first such \
      place, and the exit status is then 10.
      """)

  @Option(help: ArgumentHelp("Only requests for this service.", valueName: "service"))
  var service: String?

  @Option(help: ArgumentHelp("Only requests for this account.", valueName: "account"))
  var account: String?

  @Option(
    help: ArgumentHelp("Only this operation, such as load.", valueName: "operation"),
    completion: .list(AuditQuery.operations))
  var operation: String?

  @Option(
    help: ArgumentHelp(
      "Only this outcome: ok, or an error such as notFound.", valueName: "outcome"),
    completion: .list(["ok"] + StorageError.Code.allCases.map(\.rawValue)))
  var outcome: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Only since this time: a date and time (RFC 3339), or an age: 15min, 12h, 7d.",
      valueName: "time"))
  var since: String?

  @Option(help: ArgumentHelp("Only requests of this systemd unit.", valueName: "unit"))
  var unit: String?

  @Option(help: ArgumentHelp("Only requests of this process.", valueName: "pid"))
  var pid: String?

  @Option(
    name: [.customShort("n"), .customLong("lines")],
    help: ArgumentHelp("Show at most this number of requests, the latest.", valueName: "number"))
  var lines: String?

  @Flag(help: "Check whether lines were changed, removed or added.")
  var verify = false

  @OptionGroup var common: CommonOptions

  func perform(_ log: AuditAccess, _ terminal: Terminal) async throws(StorageError) {
    var query = try query(at: terminal.now())
    if verify {
      guard query == AuditQuery(), lines == nil else {
        throw .badRequest(
          "--verify checks all lines, so options that select lines are not allowed",
          hint: "`kist audit --verify`")
      }
      return try terminal.write(await log.verify(), asJSON: common.json)
    }
    let most = try number(lines, of: "--lines")
    var records: [AuditRecord] = []
    var pages = PagesRead()
    var skipped = 0
    repeat {
      if let most { query.limit = min(Limits.page, most - records.count) }
      let page = try await log.find(query)
      let next = try pages.add(next: page.next, size: page.records.reduce(0) { $0 + $1.size })
      records += page.records
      skipped += page.skipped
      query.after = records.count == most ? nil : next
    } while query.after != nil
    records.reverse()
    func note(_ message: String, hint: String) {
      terminal.note(message, hint: KistCommands.hint(hint, over: common.socket))
    }
    if skipped > 0 {
      note(
        "skipped \(skipped == 1 ? "1 line" : "\(skipped) lines") of the log that kistd did not "
          + "write, or that a crash cut off", hint: "check the log with `kist audit --verify`")
    }
    if records.isEmpty, !common.json, service != nil || account != nil {
      return note(
        "no request with exactly this name was found",
        hint:
          "names must match exactly: `github.com` does not find `https://github.com`; names from before "
          + "a rekey or a restore cannot be searched; `kist audit` alone shows all requests"
      )
    }
    if terminal.outputIsTerminal && !common.json {
      try terminal.writeLines(table(of: records, width: terminal.outputWidth))
    } else {
      for record in records {
        try terminal.writeRow(columns(of: record), or: record.json(), asJSON: common.json)
      }
    }
    if !common.json, records.contains(where: \.isLocked) {
      note(
        "services and accounts are not shown, because the storage is locked",
        hint: "unlock it with `kist unlock`")
    }
  }

  private func query(at now: Timestamp) throws(StorageError) -> AuditQuery {
    var query = AuditQuery()
    query.names = RequestedNames(service: service, account: account)
    if let operation, !AuditQuery.operations.contains(operation) {
      throw .badRequest(
        "--operation is not the name of an operation",
        hint: "valid values: \(AuditQuery.operations.joined(separator: ", "))")
    }
    query.operation = operation
    if let outcome, outcome != "ok", StorageError.Code(rawValue: outcome) == nil {
      throw .badRequest(
        "--outcome is neither ok nor the code of an error",
        hint: "the codes are those of the protocol, such as notFound, locked and denied")
    }
    query.outcome = outcome
    query.since = try since.map { (text) throws(StorageError) in try moment(text, now) }
    query.unit = unit
    query.pid = try number(pid, of: "--pid")
    return query
  }

  private func number(_ text: String?, of option: String) throws(StorageError) -> Int? {
    guard let text else { return nil }
    guard let number = Int(text), (1...Int(Int32.max)).contains(number) else {
      throw .badRequest("\(option) is not a number from 1 to \(Int32.max)")
    }
    return number
  }

  private func moment(_ text: String, _ now: Timestamp) throws(StorageError) -> Timestamp {
    if let moment = Timestamp(rfc3339: text) { return moment }
    do throws(StorageError) {
      let age = try TimeSpan(text, of: "--since")?.wholeSeconds ?? 0
      return Timestamp(clamping: now.secondsSinceEpoch - age)
    } catch {
      throw .badRequest(
        error.message,
        hint: (error.hint ?? "") + "; or a date and time, such as 2027-01-31T12:00:00Z")
    }
  }
}

extension AuditRecord {
  /// About the number of bytes that it uses in memory.
  fileprivate var size: Int {
    guard case .request(let request) = event else { return 256 }
    var texts = [request.operation, request.peer.unit, request.peer.claimedName]
    texts += [request.onBehalfOf?.program, request.onBehalfOf?.unit]
    if case .open(let names) = request.names { texts += [names.service, names.account] }
    return texts.reduce(256) { $0 + ($1?.utf8.count ?? 0) }
  }

  /// Whether its names are hidden because the storage is locked.
  fileprivate var isLocked: Bool {
    if case .request(let request) = event, request.names == .sealed(.locked) { true } else { false }
  }
}
