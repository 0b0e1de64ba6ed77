internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Lock: RequiresStorageAccess {
  static let configuration = CommandConfiguration(
    abstract: "Lock the storage: kistd forgets its keys.",
    usage: "kist lock [options]",
    discussion: """
      kistd loads and saves nothing until `kist unlock`. If kistd keeps credentials in a keyring, \
      kist locks the keyring for every program that uses it. On a terminal, it asks first.

        kist lock
      """)

  @Flag(help: "Lock a keyring without asking.")
  var yes = false

  @OptionGroup var common: CommonOptions

  func perform(_ access: StorageAccess, _ terminal: Terminal) async throws(StorageError) {
    if terminal.inputIsTerminal, !yes { try await confirm(access, terminal) }
    let status = try await access.lock()
    if let problem = status.problem, !common.json { terminal.report(problem, asJSON: false) }
    let isShared = status.unlocksWith == .provider
    try terminal.reportSuccess(
      isShared ? "locked the keyring, for every program" : "locked", or: status.json(),
      asJSON: common.json)
  }

  /// Asks before it locks a keyring, which other programs use, too.
  private func confirm(_ access: StorageAccess, _ terminal: Terminal) async throws(StorageError) {
    let status = try await access.status()
    guard status.unlocksWith == .provider, !status.isLocked else { return }
    try terminal.confirm(
      "This locks the keyring for every program that uses it. Lock it?",
      orElse: "nothing was locked", hint: "to lock it without this question, give `--yes`")
  }
}
