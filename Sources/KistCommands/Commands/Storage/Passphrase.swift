internal import ArgumentParser
internal import KistClient
internal import KistWire

/// The commands on the passphrase of an encrypted file; each works on the file's key slots.
struct Passphrase: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "passphrase",
    abstract: "Set, change or remove the passphrase of an encrypted file.",
    usage: "kist passphrase <set|change|remove> [options]",
    discussion: """
      Passphrases are typed at a prompt, or lines of standard input: the one of now, where it is \
      needed, then the new one.

        kist passphrase set
      """,
    subcommands: [SetPassphrase.self, ChangePassphrase.self, RemovePassphrase.self])
}

struct SetPassphrase: RequiresKeySlots {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Set a passphrase where there is none, beside the key file.",
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
  }
}

struct ChangePassphrase: RequiresKeySlots {
  static let configuration = CommandConfiguration(
    commandName: "change",
    abstract: "Put a new passphrase in the place of the one that is given.",
    usage: "kist passphrase change [options]",
    discussion: """
      Who has a copy of the file from before still opens that with the old passphrase, and so has \
      the key of this one: only `kistd rekey` revokes it.
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
    discussion: "Of several, `kist slots` removes one.")

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
  /// Reports the change; prints the remaining key slots for a program.
  fileprivate func reportSuccess(
    _ what: String, _ slots: [KeySlotSummary], asJSON: Bool
  ) throws(StorageError) {
    guard asJSON else { return try reportSuccess(what) }
    for slot in slots { try writeJSON(slot.json()) }
  }
}
