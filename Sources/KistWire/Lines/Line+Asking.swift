internal import KistJSON

extension Line {
  /// Whether the operation only reads: it does not change, lock or unlock anything.
  package var onlyAsks: Bool {
    guard
      let object = try? JSONObject(content), let operation = try? object["op"]?.string()
    else { return false }
    return operationsThatOnlyAsk.contains(operation)
  }
}

private let operationsThatOnlyAsk: Set = [
  Operation.hello.name, Operation.load.name, Operation.find.name, Operation.status.name,
  Operation.audit.name, Operation.slots.name, Operation.backup.name, Operation.backupPart.name,
  Operation.watch.name, Operation.auditVerify.name,
]
