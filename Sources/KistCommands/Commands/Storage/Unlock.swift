internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Unlock: RequiresStorageAccess {
  static let configuration = CommandConfiguration(
    commandName: "unlock",
    abstract: "Unlock the storage.",
    usage: "kist unlock [options]",
    discussion: """
      A passphrase is standard input, or typed at a prompt. Where kistd has a key file, there is \
      none, and a keyring's provider asks for its password itself, in a window of its own.

        kist unlock
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ access: StorageAccess, _ terminal: Terminal) async throws(StorageError) {
    var status = try await access.status()
    // A piped passphrase is tried even if the storage is open.
    let wasOpen = !status.isLocked && terminal.inputIsTerminal
    if !wasOpen {
      let passphrase = status.unlocksWith == .passphrase ? try terminal.passphrase() : nil
      status = try await access.unlock(passphrase)
    }
    try terminal.reportSuccess(
      wasOpen ? "it is unlocked already" : "unlocked", or: status.json(), asJSON: common.json)
  }
}
