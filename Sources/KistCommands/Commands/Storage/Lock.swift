internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Lock: RequiresStorageAccess {
  static let configuration = CommandConfiguration(
    commandName: "lock",
    abstract: "Lock the storage: kistd forgets its keys.",
    usage: "kist lock [options]",
    discussion: """
      Nothing is loaded or saved until `kist unlock`. Where credentials are kept in a keyring, that \
      is locked, for every program that uses it.

        kist lock
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ access: StorageAccess, _ terminal: Terminal) async throws(StorageError) {
    let status = try await access.lock()
    try terminal.reportSuccess("locked", or: status.json(), asJSON: common.json)
  }
}
