internal import ArgumentParser
internal import KistCore
internal import KistFile

struct RekeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd rekey",
    abstract: "Give the encrypted file a new key, while no kistd has it open.",
    usage: "kistd rekey [OPTIONS]",
    discussion: """
      The key file, if one opens the store, is replaced by a new one; the passphrase that is given \
      opens it as before, or a new one in its place.
      """)

  @Option(
    help: .value(
      "number", "A descriptor to read the passphrase from that opens the store from then on."))
  var newPassphraseFd: String?

  @Flag(help: "Leave out the key slots that you give nothing for.")
  var dropOthers = false

  @OptionGroup var store: StoreOptions

  @OptionGroup var strength: WeakOption

  /// Returns the options of a kistd with these flags, and its key file without a passphrase.
  func options(
    environment: (String) -> String?
  ) throws(StorageError) -> (options: Options, keyFile: String?, newPassphrase: CInt?) {
    let withoutPassphrase: (String) -> String? = { name in
      name == "KISTD_PASSPHRASE_FD" ? nil : environment(name)
    }
    let alone = try options(environment: withoutPassphrase) { $0.store.place = store.place }
    let options = try options(environment: environment) { kistd in
      kistd.store = store
      kistd.strength = strength
    }
    let newPassphrase = try descriptor(newPassphraseFd, of: "--new-passphrase-fd")
    try refuseOneDescriptor(for: options.keySource.descriptor, and: newPassphrase)
    return (options, alone.keySource.keyFile, newPassphrase)
  }
}

extension Options.KeySource {
  fileprivate var keyFile: String? {
    if case .file(let path) = self { path } else { nil }
  }
}

/// Runs `kistd rekey`: replaces the encrypted file with a copy under a new key.
func rekey(
  _ arguments: [String], environment: @Sendable (String) -> String?
) throws(StorageError) -> CInt {
  let command = try parse(RekeyCommand.self, arguments)
  let (options, keyFile, newPassphrase) = try command.options(environment: environment)
  let pinFile = PinFile(path: options.pinFile)
  _ = try pinFile.read(of: .encryptedFile, orElse: moveHint)
  // Comes first, so that the user does not type a passphrase in vain.
  try EncryptedFile.requireStore(at: options.storePath)
  let keySource = try EncryptedFile.KeySource(options)
  var store = options.ofEncryptedFile(keySource)
  store.progress = EncryptedFile.ProgressOptions(options, logger: .kistd(level: options.logLevel))
  var rekeying = EncryptedFile.Rekeying(store, keyFile: keyFile)
  rekeying.newPassphrase = try newPassphrase.map { (number) throws(StorageError) in
    try readPassphrase(.newOfStore, from: number)
  }
  rekeying.dropsOthers = command.dropOthers
  rekeying.willSwitch = { old, new throws(StorageError) in
    // Only now does no other process have the store open, and so none writes the pin.
    guard let pin = try pinFile.read(of: .encryptedFile, orElse: moveHint) else { return }
    guard [pin.storeID, pin.nextStoreID].contains(old) else { throw .anotherStore }
    try pinFile.write(Pin(kind: .encryptedFile, storeID: old, nextStoreID: new), insteadOf: pin)
  }
  rekeying.report = { showProgress("copied", $0, $1) }
  let rekeyed: EncryptedFile.Rekeyed
  do throws(StorageError) { rekeyed = try EncryptedFile.rekey(rekeying) } catch {
    throw error.withoutKistd
  }
  if let pin = try pinFile.read(of: .encryptedFile, orElse: moveHint), pin.nextStoreID == rekeyed.id
  {
    try pinFile.write(Pin(kind: .encryptedFile, storeID: rekeyed.id), insteadOf: pin)
  }
  let lines = rekeyed.lines(
    of: options.storePath, keyFile: keyFile, hasNewPassphrase: newPassphrase != nil)
  for line in lines { printLine(line) }
  return 0
}

private let moveHint =
  "move them with \(StorageKind.encryptedFile.migration); or name another store with --data"

extension EncryptedFile.Rekeyed {
  fileprivate func lines(of store: String, keyFile: String?, hasNewPassphrase: Bool) -> [String] {
    var lines = ["\(store) has a new key: \(counted(count))"]
    if let keyFile, let oldKeyFile {
      lines.append("- the key file \(keyFile) is a new one: keep a copy of it elsewhere")
      lines.append(
        "- the old one is now \(oldKeyFile): it opens copies of the store from before, and other "
          + "stores that were made with it; remove it when there are none")
    }
    if hasPassphrase {
      lines.append("- the passphrase that was given\(hasNewPassphrase ? " as new" : "") opens it")
    }
    if dropped > 0 {
      lines.append(
        "- \(dropped) other key slot\(dropped == 1 ? "" : "s") no longer open\(dropped == 1 ? "s" : "") it"
      )
    }
    lines.append(
      "an earlier copy still opens as before: if somebody has one, change the secrets in it")
    return lines
  }
}
