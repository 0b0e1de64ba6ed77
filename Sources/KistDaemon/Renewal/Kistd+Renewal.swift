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

struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd restore",
    abstract: "Make the encrypted file of a backup, where there is none.",
    usage: "kistd restore FILE [OPTIONS]",
    discussion: """
      The passphrase of the backup is typed at a prompt, or is standard input. The store opens \
      with its key file, which is made where there is none, or with a passphrase of its own.
      """)

  @Argument(help: .value("file", "The backup."))
  var file: String

  @Flag(help: "Read all of the backup, count the credentials, and make nothing.")
  var verify = false

  @Option(
    help: .value(
      "number",
      "A descriptor to read a passphrase from that opens the store, in place of a key file."))
  var newPassphraseFd: String?

  @OptionGroup var strength: WeakOption

  @OptionGroup var place: StorePlace

  @Option(
    help: .value("number", "A descriptor to read the backup's passphrase from; standard input."))
  var passphraseFd: String?

  func options(
    environment: (String) -> String?
  ) throws(StorageError) -> (options: Options, passphrase: CInt) {
    if file.isEmpty { throw .wrongUsage("the name of the backup is empty", of: Self.self) }
    let options = try options(environment: environment) { kistd in
      kistd.store.place = place
      kistd.store.passphraseFd = newPassphraseFd
      kistd.strength = strength
    }
    let passphrase = try descriptor(passphraseFd, of: "--passphrase-fd") ?? 0
    try refuseOneDescriptor(for: passphrase, and: options.keySource.descriptor)
    return (options, passphrase)
  }
}

func descriptor(_ text: String?, of flag: String) throws(StorageError) -> CInt? {
  guard let text else { return nil }
  return CInt(try Setting(name: flag, text: text).integer(in: 0...Int(CInt.max)))
}

/// Runs `kistd restore`: makes the encrypted file of a backup, as a first start would make it.
func restore(
  _ arguments: [String], environment: @Sendable (String) -> String?
) throws(StorageError) -> CInt {
  let command = try parse(RestoreCommand.self, arguments)
  let (options, descriptor) = try command.options(environment: environment)
  let keySource = command.verify ? .none : try EncryptedFile.KeySource(options)
  let backup = EncryptedFile.BackupFile(
    path: command.file,
    passphrase: { () throws(StorageError) in try passphraseOfBackup(from: descriptor) })
  if command.verify {
    let count = try EncryptedFile.verify(backup) { showProgress("read", $0, $1) }
    printLine("\(command.file) is whole: \(counted(count))")
    return 0
  }
  let pinFile = PinFile(path: options.pinFile)
  _ = try pinFile.read(of: .encryptedFile, orElse: otherPlaceHint)
  let (id, count) = try EncryptedFile.restore(
    backup, to: options.ofEncryptedFile(keySource),
    willSwitch: { id throws(StorageError) in
      // An existing pin names a store that is gone. A first pin is written when the store exists.
      guard let pin = try pinFile.read(of: .encryptedFile, orElse: otherPlaceHint) else { return }
      try pinFile.write(
        Pin(kind: .encryptedFile, storeID: pin.storeID, nextStoreID: id), insteadOf: pin)
    },
    reading: { showProgress("read", $0, $1) }, copying: { showProgress("copied", $0, $1) })
  try pinFile.write(Pin(kind: .encryptedFile, storeID: id), insteadOf: try pinFile.read())
  printLine("restored \(counted(count)) into \(options.storePath), which \(options.opening)")
  return 0
}

private let otherPlaceHint = "name a directory for the restored store with --data"

private func passphraseOfBackup(from descriptor: CInt) throws(StorageError) -> Secret {
  let passphrase = try readPassphrase(.ofBackup, from: descriptor)
  guard !passphrase.isEmpty else {
    throw StorageError(
      .badRequest, "the passphrase of the backup is missing",
      hint: "nothing was made; type it at the prompt, or pipe it in", outcome: .unchanged)
  }
  return passphrase
}

extension Options {
  fileprivate var opening: String {
    switch keySource {
    case .file(let path): "its key \(path) opens: keep a copy of the key elsewhere"
    case .passphraseFile, .passphrase: "its passphrase opens"
    }
  }
}
