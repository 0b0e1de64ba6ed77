internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Unlock: RequiresStorageAccess {
  static let configuration = CommandConfiguration(
    abstract: "Unlock the storage.",
    usage: "kist unlock [options]",
    discussion: """
      kist reads the passphrase from standard input, or asks for it at a prompt. If kistd uses a \
      key file, you need no passphrase. A keyring, such as gnome-keyring, asks for its password \
      in its own window.

        kist unlock
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ access: StorageAccess, _ terminal: Terminal) async throws(StorageError) {
    var status = try await access.status()
    var passphrase: Secret?
    // A passphrase from a pipe is tried even if the storage is open.
    if status.unlocksWith == .passphrase, status.isLocked || !terminal.inputIsTerminal {
      passphrase = try terminal.passphrase(isOptional: !status.isLocked)
    }
    let wasOpen = !status.isLocked && passphrase == nil
    if !wasOpen { status = try await access.unlock(passphrase) }
    try terminal.reportSuccess(
      wasOpen ? "the storage is unlocked already" : "unlocked", or: status.json(),
      asJSON: common.json)
  }
}
