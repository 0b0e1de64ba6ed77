internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Slots: RequiresKeySlots {
  static let configuration = CommandConfiguration(
    commandName: "slots",
    abstract: "List or remove key slots of an encrypted file.",
    usage: "kist slots [options]",
    discussion: """
      A slot holds the file's key, wrapped under another one: that of a key file, or a passphrase. \
      Before one is removed, another one must open the file: with the key file, or a \
      passphrase, from standard input or a prompt.

        kist slots
      """)

  @Option(help: ArgumentHelp("Remove the slot of this number.", valueName: "number"))
  var remove: Int?

  @OptionGroup var confirmation: ConfirmationOptions
  @OptionGroup var key: KeyFileOption
  @OptionGroup var common: CommonOptions

  func perform(_ slots: KeySlots, _ terminal: Terminal) async throws(StorageError) {
    guard remove != nil || !confirmation.yes else {
      throw StorageError(
        .badRequest, "--yes is for --remove", hint: "without both, the slots are listed",
        outcome: .unchanged)
    }
    var all = try await slots.list()
    if let remove {
      all = try await slots.remove(
        remove, of: all, confirmed: confirmation.yes, at: terminal)
    }
    if common.json {
      try terminal.show(all)
    } else {
      for slot in all { try terminal.writeColumns(["\(slot.number)", slot.description]) }
    }
  }
}

extension Terminal {
  /// Writes a line of JSON for each slot.
  func show(_ slots: [KeySlotSummary]) throws(StorageError) {
    for slot in slots { try writeJSON(slot.json()) }
  }
}

extension KeySlotSummary {
  /// A short description of the key or passphrase that opens it.
  var description: String {
    guard kind == .passphrase, let passes, let kibibytes else {
      return kind == .keyFile ? "key file" : kind.rawValue
    }
    return "passphrase (Argon2id, \(passes) passes over \(kibibytes) KiB)"
  }
}
