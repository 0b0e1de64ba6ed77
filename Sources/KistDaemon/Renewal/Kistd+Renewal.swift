internal import ArgumentParser
internal import KistCore
internal import KistFile
internal import KistJSON

struct RekeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd rekey",
    abstract: "Give the encrypted file a new key; kistd must not be running.",
    usage: "kistd rekey [OPTIONS]",
    discussion: """
      Replaces the key file of the store, if it has one. Keeps the passphrase of --passphrase-fd, \
      or replaces it with that of --new-passphrase-fd.
      """)

  @Option(
    help: .value(
      "number", "Read the store's new passphrase from this descriptor."))
  var newPassphraseFd: String?

  @Flag(help: "Drop the key slots whose passphrase or key file you do not give.")
  var dropOthers = false

  @OptionGroup var output: JSONOption

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
  /// The path of the key file, if a key file opens the store.
  var keyFile: String? { if case .file(let path) = self { path } else { nil } }
}

/// Runs `kistd rekey`: replaces the encrypted file with a copy under a new key.
func rekey(
  _ arguments: [String], environment: @Sendable (String) -> String?
) throws(StorageError) -> CInt {
  let command = try parse(RekeyCommand.self, arguments)
  let (options, keyFile, newPassphrase) = try command.options(environment: environment)
  let pinFile = PinFile(path: options.pinFile)
  _ = try pinFile.read(of: .encryptedFile, orElse: moveHint)
  // These come first, so that the user does not type a passphrase in vain.
  try EncryptedFile.requireStore(at: options.storePath)
  try EncryptedFile.checkIsClosed(at: options.storePath)
  let keySource = try EncryptedFile.KeySource(options)
  var store = options.ofEncryptedFile(keySource)
  store.progress = EncryptedFile.ProgressOptions(options, logger: .kistd(level: options.logLevel))
  var rekeying = EncryptedFile.Rekeying(store, keyFile: keyFile)
  rekeying.newPassphrase = try newPassphrase.map { (number) throws(StorageError) in
    try readPassphrase(.newOfStore, from: number)
  }
  rekeying.dropsOthers = command.dropOthers
  rekeying.willSwitch = { old, new throws(StorageError) in
    // From here on, no other process has the store open, so no other process writes the pin.
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
  guard !command.output.json else {
    printJSON(rekeyed.json(of: options.storePath, keyFile: keyFile))
    return 0
  }
  let lines = rekeyed.lines(
    of: options.storePath, keyFile: keyFile, hasNewPassphrase: newPassphrase != nil)
  for line in lines { printLine(line) }
  return 0
}

let moveHint =
  "move them with \(StorageKind.encryptedFile.migration); or name another store with --data"

extension EncryptedFile.Rekeyed {
  /// The result for a program: one object on one line.
  fileprivate func json(of store: String, keyFile: String?) -> Secret {
    JSONWriter.object { writer in
      writer.member("store", store)
      writer.member("count", count)
      writer.member("keyFile", oldKeyFile == nil ? nil : keyFile)
      writer.member("oldKeyFile", oldKeyFile)
      writer.member("hasPassphrase", hasPassphrase)
      writer.member("dropped", dropped)
    }
  }

  fileprivate func lines(of store: String, keyFile: String?, hasNewPassphrase: Bool) -> [String] {
    var lines = ["\(store) has a new key: \(counted(count))"]
    if let keyFile, let oldKeyFile {
      lines.append("- the key file \(keyFile) is new: keep a copy of it elsewhere")
      lines.append(
        "- the old key file is now \(oldKeyFile): it opens earlier copies of the store, and other "
          + "stores that use this key; remove it when you have none of these")
    }
    if hasPassphrase {
      lines.append("- the \(hasNewPassphrase ? "new" : "current") passphrase opens it")
    }
    if dropped > 0 {
      lines.append(
        "- \(dropped) other key slot\(dropped == 1 ? "" : "s") no longer open\(dropped == 1 ? "s" : "") it"
      )
    }
    lines.append(
      "the old key or passphrase still opens earlier copies: if others may have one, change the "
        + "secrets in it")
    return lines
  }
}

struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd restore",
    abstract: "Make an encrypted file from a backup, if there is none yet.",
    usage: "kistd restore FILE [OPTIONS]",
    discussion: """
      Asks for the passphrase of the backup, or reads it from standard input. The new store opens \
      with its key file, which kistd makes if there is none, or with a passphrase.
      """)

  @Argument(help: .value("file", "The backup."))
  var file: String

  @Flag(help: "Check the whole backup and count its credentials. Writes nothing.")
  var verify = false

  @OptionGroup var output: JSONOption

  @Option(
    help: .value(
      "number",
      "Read a passphrase for the new store from this descriptor, instead of a key file."))
  var newPassphraseFd: String?

  @OptionGroup var strength: WeakOption

  @OptionGroup var place: StorePlace

  @Option(
    help: .value(
      "number", "Read the backup's passphrase from this descriptor; by default standard input."))
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
    if command.output.json {
      printJSON(verifiedJSON(command.file, count))
    } else {
      printLine("\(command.file) is intact: \(counted(count))")
    }
    return 0
  }
  let pinFile = PinFile(path: options.pinFile)
  _ = try pinFile.read(of: .encryptedFile, orElse: otherPlaceHint)
  // It may have a store open that was moved away together with its lock.
  try checkThatNoKistdRuns(options)
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
  if command.output.json {
    printJSON(options.restoredJSON(count))
  } else {
    printLine("restored \(counted(count)) into \(options.storePath), which \(options.opening)")
  }
  return 0
}

private func verifiedJSON(_ file: String, _ count: Int) -> Secret {
  JSONWriter.object { writer in
    writer.member("file", file)
    writer.member("count", count)
  }
}

private let otherPlaceHint = "name a directory for the restored store with --data"

private func passphraseOfBackup(from descriptor: CInt) throws(StorageError) -> Secret {
  let passphrase = try readPassphrase(.ofBackup, from: descriptor)
  guard !passphrase.isEmpty else {
    throw StorageError(
      .badRequest, "the passphrase of the backup is missing",
      hint: "nothing was written; type it at the prompt, or pipe it in", outcome: .unchanged)
  }
  return passphrase
}

extension Options {
  /// The result of a restore for a program; without `keyFile`, the store opens with its passphrase.
  fileprivate func restoredJSON(_ count: Int) -> Secret {
    JSONWriter.object { writer in
      writer.member("store", storePath)
      writer.member("count", count)
      writer.member("keyFile", keySource.keyFile)
    }
  }

  fileprivate var opening: String {
    switch keySource {
    case .file(let path): "opens with the key file \(path): keep a copy of it elsewhere"
    case .passphraseFile, .passphrase: "opens with its passphrase"
    }
  }
}
