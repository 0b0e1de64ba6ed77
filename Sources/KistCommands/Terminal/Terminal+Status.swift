internal import KistCore
internal import KistTerminal
internal import KistWire

extension Terminal {
  /// Shows how a storage stands, under the names that it has on the wire.
  func show(_ status: StorageStatus, asJSON: Bool) throws(StorageError) {
    if asJSON { return try writeLine(status.json()) }
    let lines: [(name: String, value: String?)] = [
      ("storage", status.storage),
      ("reason", status.reason),
      ("locked", "\(status.isLocked)"),
      ("unlocksWith", status.unlocksWith?.rawValue),
      ("reopensAtRestart", "\(status.reopensAtRestart)"),
      ("durability", status.durability.rawValue),
      ("keyProtection", status.keyProtection),
      ("integrity", status.integrity?.rawValue),
      ("count", status.count.map { "\($0)" }),
      ("uptime", status.uptime.map { "\($0)s" }),
    ]
    for line in lines {
      guard let value = line.value else { continue }
      let text = "\(line.name): \(value)"
      let lines = outputIsTerminal ? wrapped(text, to: outputWidth - 2) : [text]
      try write(lines.joined(separator: "\n  ") + "\n")
    }
  }
}
