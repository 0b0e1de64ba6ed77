internal import ArgumentParser
internal import KistCore
internal import KistFile

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
