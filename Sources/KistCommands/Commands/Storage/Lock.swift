internal import ArgumentParser
internal import KistClient
internal import KistWire

struct Lock: RequiresStorageAccess {
  static let configuration = CommandConfiguration(
    abstract: "Lock the storage: kistd forgets its keys.",
    usage: "kist lock [options]",
    discussion: """
      kistd loads and saves nothing until `kist unlock`. If kistd keeps credentials in a keyring, \
      kist locks the keyring for every program that uses it.

        kist lock
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ access: StorageAccess, _ terminal: Terminal) async throws(StorageError) {
    let status = try await access.lock()
    try terminal.reportSuccess("locked", or: status.json(), asJSON: common.json)
  }
}
