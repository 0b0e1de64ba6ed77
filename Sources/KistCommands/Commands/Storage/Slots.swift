internal import ArgumentParser
internal import KistClient
internal import KistSystem
internal import KistTerminal
internal import KistWire

struct Slots: RequiresKeySlots {
  static let configuration = CommandConfiguration(
    abstract: "List or remove key slots of an encrypted file.",
    usage: "kist slots [options]",
    discussion: """
      A key slot is one way to open the file: a key file or a passphrase. kist removes a slot only \
      if a remaining slot opens the file. To check that, it reads the key file, or a passphrase \
      from standard input or a prompt.

        kist slots
      """)

  @Option(help: ArgumentHelp("Remove the slot with this number.", valueName: "number"))
  var remove: Int?

  @OptionGroup var confirmation: ConfirmationOptions
  @OptionGroup var key: KeyFileOption
  @OptionGroup var common: CommonOptions

  func perform(_ slots: KeySlots, _ terminal: Terminal) async throws(StorageError) {
    guard remove != nil || !confirmation.yes else {
      throw .refused("--yes needs --remove", hint: "to list the slots: `kist slots`")
    }
    var all = try await slots.list()
    if let remove {
      let hadKeyFile = all.contains { $0.kind == .keyFile }
      all = try await slots.remove(remove, of: all, confirmed: confirmation.yes, at: terminal)
      if hadKeyFile, !all.contains(where: { $0.kind == .keyFile }) { reportNoKeyFile(terminal) }
    }
    for slot in all {
      if terminal.outputIsTerminal, !common.json {
        try terminal.writeLines(lines(of: slot, to: terminal.outputWidth))
      } else {
        try terminal.writeRow(
          ["\(slot.number)", slot.description], or: slot.json(), asJSON: common.json)
      }
    }
  }
}

extension Slots {
  /// Returns the lines that show a slot on a terminal: its number, and its description beside that.
  private func lines(of slot: KeySlotSummary, to width: Int) -> [String] {
    let number = "\(slot.number)  "
    return wrapped(number + slot.description, to: width, indent: number.count)
  }

  /// Reports that no key file opens the store now, and names the key file that the user may remove.
  private func reportNoKeyFile(_ terminal: Terminal) {
    let back = "to use a key file again, stop kistd, and run `kistd key-file add`"
    let path = key.path.flatMap { fileStatus(of: $0) == nil ? nil : $0 }
    let removal = path.map { path in
      "if no other store needs the key file \(path), remove it: `rm \(shellQuoted(path))`; "
    }
    terminal.note(
      "no key file opens the store now: it is locked after each start of kistd, until `kist unlock`",
      hint: (removal ?? "") + back)
  }
}

extension KeySlotSummary {
  /// A short description of the key file or the passphrase that opens the slot.
  var description: String {
    guard kind == .passphrase, let passes, let kibibytes else {
      return kind == .keyFile ? "key file" : kind.rawValue
    }
    return "passphrase (Argon2id, \(passes) passes over \(kibibytes) KiB)"
  }
}

extension KeySlots {
  /// Removes a slot.
  ///
  /// If only one slot would be left, the user must confirm the removal.
  func remove(
    _ number: Int, of all: [KeySlotSummary], confirmed: Bool, at terminal: Terminal
  ) async throws(StorageError) -> [KeySlotSummary] {
    guard let slot = all.first(where: { $0.number == number }) else {
      throw .refused("there is no slot \(number)", hint: "`kist slots` shows them")
    }
    // A slot of an unknown kind does not count, because kistd cannot open the storage with it.
    let rest = all.filter { $0 != slot && $0.kind != .unknown }
    guard let last = rest.first else {
      throw .refused(
        "slot \(slot.number), \(slot.description), is the only key slot",
        hint: slot.kind == .passphrase
          ? "replace it with `kist passphrase change`"
          : "add a passphrase first, with `kist passphrase set`")
    }
    if rest.count == 1, !confirmed {
      guard terminal.canAsk else {
        throw .refused(
          "nothing was removed: slot \(last.number) would be the only key slot",
          hint: "to confirm, give `--yes`")
      }
      let warning = "Only slot \(last.number), \(last.description), will remain."
      try terminal.confirm(
        "\(warning) Remove slot \(slot.number), \(slot.description)?",
        orElse: "nothing was removed", hint: "`kist slots` lists the key slots")
    }
    let staysOpen = rest.contains { $0.kind == .keyFile }
    let current = staysOpen ? nil : try terminal.passphrases(asking: [.staying])[0]
    return try await remove(KeySlotRemoval(number: number, current: current))
  }
}
