internal import KistCore

extension KeySlots {
  /// Removes a slot; if only one slot remains, the user must have confirmed it.
  func remove(
    _ number: Int, of all: [KeySlotSummary], confirmed: Bool, at terminal: Terminal
  ) async throws(StorageError) -> [KeySlotSummary] {
    guard let slot = all.first(where: { $0.number == number }) else {
      throw StorageError(
        .badRequest, "there is no slot \(number)", hint: "`kist slots` shows them",
        outcome: .unchanged)
    }
    // A slot of an unknown kind does not count, because kistd cannot open the storage with it.
    let rest = all.filter { $0 != slot && $0.kind != .unknown }
    guard let last = rest.first else { throw onlyWayIn(slot) }
    if rest.count == 1, !confirmed { try terminal.confirm(removing: slot, leaving: last) }
    let staysOpen = rest.contains { $0.kind == .keyFile }
    let current = staysOpen ? nil : try terminal.passphrases(asking: [.staying])[0]
    return try await remove(KeySlotRemoval(number: number, current: current))
  }
}

private func onlyWayIn(_ slot: KeySlotSummary) -> StorageError {
  StorageError(
    .badRequest, "slot \(slot.number), \(slot.description), is the only key slot",
    hint: slot.kind == .passphrase
      ? "put another passphrase in its place with `kist passphrase change`"
      : "add a passphrase first, with `kist passphrase set`",
    outcome: .unchanged)
}

extension Terminal {
  fileprivate func confirm(
    removing slot: KeySlotSummary, leaving last: KeySlotSummary
  ) throws(StorageError) {
    let warning = "Slot \(last.number), \(last.description), is then the only key slot."
    guard inputIsTerminal else {
      throw StorageError(
        .badRequest, "nothing was removed: slot \(last.number) would be the only key slot",
        hint: "say with `--yes` that it may", outcome: .unchanged)
    }
    try confirm(
      "\(warning) Remove slot \(slot.number), \(slot.description)?",
      orElse: "nothing was removed", hint: "`kist slots` lists the key slots")
  }
}
