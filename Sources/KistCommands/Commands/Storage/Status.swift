internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Status: RequiresStorageAccess {
  static let configuration = CommandConfiguration(
    abstract: "Print the state of the storage.",
    usage: "kist status [options]",
    discussion: """
      Works also while the storage is locked.

        kist status
      """)

  @OptionGroup var common: CommonOptions

  static var startsKistd: Bool { false }

  func perform(_ access: StorageAccess, _ terminal: Terminal) async throws(StorageError) {
    let status = try await access.status()
    if common.json { return try terminal.writeJSON(status.json()) }
    var members: [(name: String, value: String?)] = [
      ("storage", status.storage), ("path", status.path), ("reason", status.reason),
      ("locked", "\(status.isLocked)"), ("unlocksWith", status.unlocksWith?.rawValue),
      ("reopensAtRestart", "\(status.reopensAtRestart)"),
      ("durability", status.durability.rawValue), ("keyProtection", status.keyProtection),
      ("sessionEncrypted", status.isSessionEncrypted.map { "\($0)" }),
      ("keysInRAM", status.keysInRAM.map { "\($0)" }), ("integrity", status.integrity?.rawValue),
      ("problem", status.problem?.message), ("count", status.count.map { "\($0)" }),
      ("vault.members", status.vault.map { "\($0.members)" }),
      ("vault.generation", status.vault.map { "\($0.generation)" }),
      ("vault.head", status.vault?.head.rawValue),
      ("vault.confirmedAgo", status.vault.map { "\($0.confirmedAgo)s" }),
      ("vault.copyComplete", status.vault.map { "\($0.isCopyComplete)" }),
      ("uptime", status.uptime.map { "\($0)s" }),
    ]
    members += (status.vault?.warnings ?? []).map { ("vault.warning", $0) }
    let width = terminal.outputIsTerminal ? terminal.outputWidth - 2 : nil
    for case (let name, let value?) in members {
      let text = terminal.lines("\(name): \(value)", to: width)
      try terminal.writeLines(text.prefix(1) + text.dropFirst().map { "  " + $0 })
    }
  }
}
