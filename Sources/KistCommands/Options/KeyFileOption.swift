internal import ArgumentParser
internal import Glibc
internal import KistClient
internal import KistSystem

/// The option for the key file of the store.
package struct KeyFileOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The key file that opens the store; by default $KISTD_KEY_FILE, or the key file at kistd's usual place.",
      valueName: "path"))
  var keyFile: String?

  package init() {}
}

extension KeySlots {
  /// Adds the key of a key file to each change without a passphrase.
  func provedByKeyFile(_ option: KeyFileOption) -> KeySlots {
    KeySlots(
      list: list,
      add: { addition throws(StorageError) in
        var addition = addition
        if addition.current == nil { addition.currentKey = try option.key() }
        return try await add(addition)
      },
      remove: { removal throws(StorageError) in
        var removal = removal
        if removal.current == nil { removal.currentKey = try option.key() }
        return try await remove(removal)
      })
  }
}

extension KeyFileOption {
  fileprivate func key() throws(StorageError) -> Secret {
    guard let path = keyFile ?? Host.live.keyFile else {
      throw .refused(
        "there is no HOME to look for the key file in",
        hint: "name the key file that opens the store with `--key-file`")
    }
    let what = "the key file \(path)"
    let file: CInt
    do throws(UnfitFile) { file = try openOwnFile(path, O_RDONLY) } catch {
      throw StorageError(
        error.isMissing ? .badRequest : .denied, "\(what) \(error.clause)",
        hint: "name the key file that opens the store with `--key-file`", outcome: .unchanged)
    }
    return try contents(of: file, upTo: 32, what)
  }
}
