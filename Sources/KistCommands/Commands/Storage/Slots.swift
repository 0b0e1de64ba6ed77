internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Slots: RequiresKeySlots {
  static let configuration = CommandConfiguration(
    commandName: "slots",
    abstract: "List the ways in to an encrypted file, or remove one.",
    usage: "kist slots [options]",
    discussion: """
      A slot holds the file's key, wrapped under another one: that of a key file, or a passphrase. \
      Before one is removed, another one must open the file: with the key file that kistd has, or a \
      passphrase, from standard input or a prompt.

        kist slots
      """)

  @Option(help: ArgumentHelp("Remove the slot of this number.", valueName: "number"))
  var remove: Int?

  @OptionGroup var confirmation: ConfirmationOptions
  @OptionGroup var common: CommonOptions

  func perform(_ slots: KeySlots, _ terminal: Terminal) async throws(StorageError) {
    guard remove != nil || !confirmation.yes else {
      throw StorageError(
        .badRequest, "--yes stands beside --remove", hint: "without both, the slots are listed",
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
      for slot in all { try terminal.write("\(slot.number)\t\(slot.description)\n") }
    }
  }
}

extension Terminal {
  /// Writes a line of JSON for each slot.
  func show(_ slots: [KeySlotSummary]) throws(StorageError) {
    for slot in slots { try writeLine(slot.json()) }
  }
}

extension KeySlotSummary {
  /// What opens it, in a few words.
  var description: String {
    guard kind == .passphrase, let passes, let kibibytes else {
      return kind == .keyFile ? "key file" : kind.rawValue
    }
    return "passphrase (Argon2id, \(passes) passes over \(kibibytes) KiB)"
  }
}
