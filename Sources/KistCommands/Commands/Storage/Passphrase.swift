internal import ArgumentParser
internal import KistClient
internal import KistWire

/// The commands for the passphrase of an encrypted file.
///
/// Each changes the file's key slots.
struct Passphrase: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Set, change or remove the passphrase of an encrypted file.",
    usage: "kist passphrase <set|change|remove> [options]",
    discussion: """
      Type the passphrases at the prompts, or pipe them in, one on each line: first the current \
      one, if it is needed, then the new one.

        kist passphrase set
      """,
    subcommands: [SetPassphrase.self, ChangePassphrase.self, RemovePassphrase.self])
}

struct SetPassphrase: RequiresKeySlots {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Set the first passphrase, in addition to the key file.",
    usage: "kist passphrase set [options]")

  @OptionGroup var strength: WeakOption
  @OptionGroup var key: KeyFileOption
  @OptionGroup var common: CommonOptions

  func perform(_ slots: KeySlots, _ terminal: Terminal) async throws(StorageError) {
    guard try await !slots.list().contains(where: { $0.kind == .passphrase }) else {
      throw .refused(
        "there is a passphrase already", hint: "change it with `kist passphrase change`")
    }
    let new = try terminal.passphrases(asking: [.new])[0]
    let all = try await slots.add(KeySlotAddition(passphrase: new, allowsWeak: strength.weak))
    try terminal.reportSuccess("set", all, asJSON: common.json)
    if terminal.outputIsTerminal, !common.json { noteKeyFiles(of: all, terminal) }
  }

  /// Reports that the key file opens the store, too: the user may expect the passphrase to replace it.
  private func noteKeyFiles(of slots: [KeySlotSummary], _ terminal: Terminal) {
    let keyFiles = slots.filter { $0.kind == .keyFile }
    guard let slot = keyFiles.first else { return }
    let (message, removal) =
      keyFiles.count == 1
      ? ("the key file still opens the store, too", "`kist slots --remove \(slot.number)`")
      : (
        "\(keyFiles.count) key files still open the store, too",
        "remove their slots, which `kist slots` lists, with `kist slots --remove NUMBER`"
      )
    terminal.note(
      message,
      hint: hint("to let only the passphrase open it: \(removal)", over: common.socket))
  }
}

struct ChangePassphrase: RequiresKeySlots {
  static let configuration = CommandConfiguration(
    commandName: "change",
    abstract: "Replace the current passphrase with a new one.",
    usage: "kist passphrase change [options]",
    discussion: """
      The old passphrase still opens earlier copies of the file. The key in such a copy also opens \
      the current file. To replace that key, run `kistd rekey`.
      """)

  @OptionGroup var strength: WeakOption
  @OptionGroup var key: KeyFileOption
  @OptionGroup var common: CommonOptions

  func perform(_ slots: KeySlots, _ terminal: Terminal) async throws(StorageError) {
    guard try await slots.list().contains(where: { $0.kind == .passphrase }) else {
      throw noPassphrase
    }
    let passphrases = try terminal.passphrases(asking: [.current, .new])
    let all = try await slots.add(
      KeySlotAddition(
        passphrase: passphrases[1], current: passphrases[0], replacesCurrent: true,
        allowsWeak: strength.weak))
    try terminal.reportSuccess("changed", all, asJSON: common.json)
  }
}

struct RemovePassphrase: RequiresKeySlots {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove the passphrase; the key file still opens the file.",
    usage: "kist passphrase remove [options]",
    discussion: "To remove one of several passphrases, use `kist slots`.")

  @OptionGroup var confirmation: ConfirmationOptions
  @OptionGroup var key: KeyFileOption
  @OptionGroup var common: CommonOptions

  func perform(_ slots: KeySlots, _ terminal: Terminal) async throws(StorageError) {
    let all = try await slots.list()
    let passphrases = all.filter { $0.kind == .passphrase }
    guard let slot = passphrases.first else { throw noPassphrase }
    guard passphrases.count == 1 else {
      throw .refused(
        "there are several passphrases",
        hint: "remove one of them with `kist slots --remove NUMBER`")
    }
    let rest = try await slots.remove(
      slot.number, of: all, confirmed: confirmation.yes, at: terminal)
    try terminal.reportSuccess("removed", rest, asJSON: common.json)
  }
}

private var noPassphrase: StorageError {
  .refused("there is no passphrase", hint: "set one with `kist passphrase set`")
}

extension Terminal {
  /// Reports the change; with `--json`, prints the current key slots instead.
  fileprivate func reportSuccess(
    _ what: String, _ slots: [KeySlotSummary], asJSON: Bool
  ) throws(StorageError) {
    guard asJSON else { return try reportSuccess(what) }
    for slot in slots { try writeJSON(slot.json()) }
  }
}
