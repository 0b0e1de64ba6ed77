internal import ArgumentParser
internal import KistCore
internal import KistFile
internal import Logging

struct MigrateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd migrate",
    abstract: "Move all credentials to another storage; kistd must not be running.",
    usage: "kistd migrate [--from KIND] --to KIND [OPTIONS]")

  @Option(
    help: .value(
      "kind", "The storage to move from; by default the other one of keyring and encrypted file."),
    completion: .list(StorageKind.all.map(\.rawValue)))
  var from: String?

  @Option(
    help: .value("kind", "The storage to move to: \(StorageKind.namesInHelp)."),
    completion: .list(StorageKind.all.map(\.rawValue)))
  var to: String

  @OptionGroup var output: JSONOption

  @OptionGroup var store: StoreOptions

  @OptionGroup var vault: VaultOptions

  @OptionGroup var strength: WeakOption

  @OptionGroup var use: UseOptions

  func options(
    environment: (String) -> String?
  ) throws(StorageError) -> (source: StorageKind, target: StorageKind, Options) {
    let target = try kind(to, of: "--to", among: StorageKind.all)
    let others = StorageKind.all.filter { $0 != target }
    let usual = others.filter(\.isChosenAutomatically)
    let implied = usual.count == 1 ? usual[0].rawValue : ""
    let source = try kind(from ?? implied, of: "--from", among: others)
    let options = try options(environment: environment) { kistd in
      kistd.store = store
      kistd.vault = vault
      kistd.strength = strength
      kistd.use = use
    }
    return (source, target, options)
  }

  private func kind(
    _ name: String, of flag: String, among kinds: [StorageKind]
  ) throws(StorageError) -> StorageKind {
    if let kind = kinds.first(where: { $0.rawValue == name }) { return kind }
    throw .wrongUsage("\(flag) must be \(listed(kinds.map(\.rawValue), "or"))", of: Self.self)
  }
}

/// Throws if kist's own provider takes the place of the keyring when that one ends.
func checkThatKeyringStays(_ provider: KeyringProvider?) throws(StorageError) {
  guard provider?.startable == .kist else { return }
  throw StorageError(
    .denied,
    "kist-secret-service is set up to take the place of the keyring, so kistd could not reach it after the "
      + "next login; nothing was copied or removed",
    hint: "run `kist setup secret-service --undo` first", outcome: .unchanged)
}

/// Runs `kistd migrate`: moves the credentials to another storage, and returns the exit status.
func migrate(
  _ arguments: [String], environment: @escaping @Sendable (String) -> String?
) async throws(StorageError) -> CInt {
  let command = try parse(MigrateCommand.self, arguments)
  let (source, target, options) = try command.options(environment: environment)
  // The storage of a running kistd is one of the two.
  try EncryptedFile.checkIsClosed(at: options.storePath)
  try EncryptedFile.checkIsClosed(at: options.copyPath)
  try options.checkKeyringIsFree()
  var context = StorageContext(
    options: options, environment: environment, logger: .kistd(level: options.logLevel))
  let probes = await Probes(of: [source, target].filter { !$0.isExternal }, context)
  let pinFile = PinFile(path: options.pinFile)
  let pin = try pinFile.read().map { pinFile.settled($0, on: probes[$0.kind]) }
  if let pin {
    guard [source, target].contains(pin.kind) else {
      throw StorageError(
        .unavailable, "credentials are kept in \(pin.kind.name)",
        hint: "move them with --from \(pin.kind.rawValue), or name another store with --data")
    }
    // A pinned store that is missing or replaced is not a valid source or target.
    if let probe = probes[pin.kind] { try pin.check(probe) }
  }
  var report = MigrationReport(
    source: source, target: target, wasSwitched: pin?.kind == target,
    keepsSource: try options.keepsInMigration(source), options: options,
    isJSON: command.output.json)
  if report.wasSwitched {
    // An empty source need not be opened, which could need a passphrase.
    let isEmpty = if case .open(hasCredentials: false, _)? = probes[source] { true } else { false }
    if report.keepsSource || isEmpty { return try report.show(.moved(0, left: [])) }
  }
  if target.isExternal, !report.wasSwitched {
    try checkThatKeyringStays(await context.keyringProvider())
  }
  context.keySource = try EncryptedFile.KeySource(options)
  context.progress = EncryptedFile.ProgressOptions(options, logger: context.logger)

  if source.identity != nil, case .open(_, nil)? = probes[source] {
    // To open the source would make it.
    report.isSourceMissing = true
    try await target.whileOpen(context, pin) { opened throws(StorageError) in
      try await target.unlock(opened, context)
      try pinFile.write(Pin(kind: target, storeID: opened.id), insteadOf: pin)
    }
    return try report.show(.moved(0, left: []))
  }
  if target.countLaterData == nil, case .open? = probes[source],
    let count = try source.countLaterData?(context), count > 0
  {
    throw StorageError(
      .denied,
      "a later version of kist added data to \(counted(count)), which would be lost in "
        + "\(target.name); nothing was copied or removed",
      hint: "move them with that version of kistd", outcome: .unchanged)
  }
  // The source comes first, so that no target is made if the source is out of reach.
  let from: OpenStorage
  do throws(StorageError) { from = try await source.unlocked(context, pin) } catch {
    guard
      source.isExternal, report.wasSwitched, [.unavailable, .locked].contains(error.code)
    else { throw error }
    report.showUnchecked(because: error)
    return 0
  }
  return try await from.closing { [context] () throws(StorageError) in
    return try await target.whileOpen(context, pin) { to throws(StorageError) in
      try await target.unlock(to, context)
      var previous = pin
      if pin == nil, try await to.credentials.findAll().isEmpty {
        // Without a pin, an interrupted migration would leave credentials in both storages, and no
        // record of which one counts.
        let begun = Pin(kind: source, storeID: from.id)
        try pinFile.write(begun, insteadOf: nil)
        previous = begun
      }
      let new = Pin(kind: target, storeID: to.id)
      let outcome = try await Migration(
        source: from.credentials, target: to.credentials, isSwitched: pin == new,
        keepsSource: report.keepsSource,
        switchPin: { [previous] () throws(StorageError) in
          try pinFile.write(new, insteadOf: previous)
        }, report: { showProgress($0.rawValue, $1, $2) }
      ).runAsCommand()
      return try report.show(outcome)
    }
  }
}

extension StorageKind {
  /// Passes the opened storage to the closure, and closes it in every case.
  fileprivate func whileOpen<Result>(
    _ context: StorageContext, _ pin: Pin?,
    _ body: (OpenStorage) async throws(StorageError) -> Result
  ) async throws(StorageError) -> Result {
    let storage = try await open(context, pin)
    return try await storage.closing { () throws(StorageError) in try await body(storage) }
  }

  /// Opens and unlocks a storage.
  fileprivate func unlocked(
    _ context: StorageContext, _ pin: Pin?
  ) async throws(StorageError) -> OpenStorage {
    let storage = try await open(context, pin)
    do throws(StorageError) { try await unlock(storage, context) } catch {
      await storage.close()
      throw error
    }
    return storage
  }

  /// Unlocks a locked storage, with a prompt if necessary, because migration is interactive.
  fileprivate func unlock(
    _ storage: OpenStorage, _ context: StorageContext
  ) async throws(StorageError) {
    let status = try await storage.access.status()
    guard status.isLocked else { return }
    do throws(StorageError) { _ = try await storage.access.unlock(nil) } catch {
      throw whenLocked(error, status, context)
    }
  }
}

extension OpenStorage {
  /// Closes the storage after the closure, in every case.
  fileprivate func closing<Result>(
    _ body: () async throws(StorageError) -> Result
  ) async throws(StorageError) -> Result {
    do throws(StorageError) {
      let result = try await body()
      await close()
      return result
    } catch {
      await close()
      throw error
    }
  }
}
