internal import ArgumentParser
internal import KistClient

struct Status: RequiresStorageAccess {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Print the state of the storage.",
    usage: "kist status [options]",
    discussion: """
      Answers also while the storage is locked.

        kist status
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ access: StorageAccess, _ terminal: Terminal) async throws(StorageError) {
    try terminal.show(await access.status(), asJSON: common.json)
  }
}
