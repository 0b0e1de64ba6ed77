internal import ArgumentParser
internal import KistClient

struct Unlock: RequiresStorageAccess {
  static let configuration = CommandConfiguration(
    commandName: "unlock",
    abstract: "Unlock the storage with its passphrase, or with the key that kistd has.",
    usage: "kist unlock [options]",
    discussion: """
      The passphrase is standard input, or typed at a prompt; with --key there is none.
      A keyring's provider asks for its password itself, in a window of its own.

        kist unlock
        kist unlock --key
      """)

  @Flag(help: "Use the key file that kistd was started with, and no passphrase.")
  var key = false

  @OptionGroup var common: CommonOptions

  func perform(_ access: StorageAccess, _ terminal: Terminal) async throws(StorageError) {
    let asksItself = try await access.status().durability == .provider
    let passphrase = key || asksItself ? nil : try terminal.passphrase()
    let status = try await access.unlock(passphrase)
    if common.json {
      try terminal.show(status, asJSON: true)
    } else {
      try terminal.tell("unlocked")
    }
  }
}
