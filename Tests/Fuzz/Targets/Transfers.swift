import KistCore
import KistInterop
import KistJSON
import KistWire

/// Files of other programs and of kist: imported credentials are within the limits, and a second
/// import changes nothing.
///
/// The first line of an input is a format, `pass` or `kist`. The file follows; for cargo, a NUL and
/// its configuration follow the file.
let transfers = Target("transfers") { input in
  var input = input
  let name = input.text(before: UInt8(ascii: "\n"))
  guard let file = read(&input, name) else { return }
  for entry in file.entries {
    demand(entry.credential.isWithinLimits, "an imported credential is within the limits")
    demand(entry.place > 0, "an entry has a place")
  }
  wait {
    await importTwice(file, lastCounts: false)
    await importTwice(file, lastCounts: true)
  }
}

private func read(_ input: inout Input, _ name: String) -> ForeignCredentials? {
  var file = ForeignCredentials(isComplete: name == "kist")
  switch name {
  case "pass":
    try? file.addPassEntry(input.text(before: 0), Secret(copying: input.rest), at: 1)
    return file
  case "kist":
    guard let credential = try? NewCredential(json: Secret(copying: input.rest)) else { return nil }
    try? file.add(credential, at: 1)
    if let entry = file.entries.first { checkRoundTrip(entry.credential) }
    return file
  default:
    guard let format = ForeignFormat(rawValue: name) else { return nil }
    let text = Secret(copying: input.bytes(before: 0))
    return try? format.read(text, configuration: input.isEmpty ? nil : Secret(copying: input.rest))
  }
}

/// Saves what an import would save, and plans the import again.
private func importTwice(_ file: ForeignCredentials, lastCounts: Bool) async {
  let storage = UserStorage.inMemory()
  for isFirst in [true, false] {
    let plan = try? await ImportPlan(
      of: file, lastCounts: lastCounts, with: storage, progress: { _, _ in })
    guard let plan else { return demand(false, "an import to a storage in memory can be planned") }
    let changes = plan.changes(replacing: lastCounts)
    demand(isFirst || changes.isEmpty, "a second import changes nothing")
    demand(plan.count(.differs) == 0, "nothing differs from what was imported")
    for change in changes {
      demand((try? await storage.save(change)) != nil, "what is imported is saved")
    }
    for row in plan.rows {
      demand((try? JSONObject(row.json())) != nil, "a row is one object")
    }
  }
}

private func checkRoundTrip(_ credential: NewCredential) {
  let moment = Timestamp(clamping: 0)
  let summary = CredentialSummary(
    of: credential, createdAt: moment, modifiedAt: moment, revision: Revision(rawValue: "1"))
  let line = Credential(summary: summary, secret: credential.secret).json()
  demand((try? NewCredential(json: line)) == credential, "a line is read as it was written")
}
