internal import ArgumentParser
internal import KistClient
internal import KistCore
internal import KistFile
internal import KistSystem
internal import KistWire
internal import Logging

struct Selection: Sendable, Equatable {
  var kind: StorageKind
  /// A clause for the log and for `status`: the state when kistd started, which may have changed.
  var reason: String

  /// Selects a storage.
  ///
  /// A pinned storage stays selected even if it is unusable now, and reports its error, because
  /// credentials that seem to vanish are worse than an error.
  ///
  /// - Parameters:
  ///   - asked: the storage that was requested by name; `nil` if none was.
  ///   - namesCluster: whether the user named the socket of a cluster, and so expects a shared vault.
  static func select(
    asked: StorageKind?, pin: Pin?, namesCluster: Bool = false, _ probes: Probes
  ) throws(StorageError) -> Selection {
    if let pin {
      if let asked, asked != pin.kind { throw .elsewhere(pin.kind, asked: asked) }
      if let probe = probes[pin.kind] { try pin.check(probe) }
      return Selection(
        kind: pin.kind, reason: "\(pin.kind.name): credentials have been kept there before")
    }
    var filled: [StorageKind] = []
    for (kind, probe) in probes where kind != asked {
      switch probe {
      case .open(let hasCredentials, _): if hasCredentials { filled.append(kind) }
      // This storage may have credentials that would seem to vanish.
      case .unusable(let error): if !kind.isExternal { throw error }
      case .locked: break
      }
    }
    if let asked {
      if let kind = filled.first { throw .elsewhere(kind, asked: asked) }
      return Selection(kind: asked, reason: "\(asked.name): it was requested")
    }
    if filled.count > 1 {
      throw StorageError(
        .unavailable, "there are credentials in \(listed(filled.map(\.name), "and in"))",
        hint:
          "move them into one storage with "
          + listed(filled.map { "`kistd migrate --to \($0.rawValue)`" }, "or")
          + ", with the same --data if one was given")
    }
    if let kind = filled.first {
      let credentials = kind.isExternal ? "credentials of kist" : "credentials"
      return Selection(kind: kind, reason: "\(kind.name): it had \(credentials)")
    }
    guard namesCluster else { return try selectEmpty(probes) }
    // Another storage would seem to work, but would share nothing.
    guard case .open(_, _?)? = probes[.shared] else { throw .notJoinedYet }
    return Selection(
      kind: .shared, reason: "\(StorageKind.shared.name): this machine has joined it")
  }

  private static func selectEmpty(_ probes: Probes) throws(StorageError) -> Selection {
    var failure: StorageError?
    for (kind, probe) in probes where kind.isChosenAutomatically {
      switch probe {
      case .open:
        let isChoice = probes.contains { $0.kind.isExternal }
        let reason =
          failure?.message ?? (isChoice ? "it was there and unlocked" : "its directory was named")
        return Selection(kind: kind, reason: "\(kind.name): \(reason)")
      case .locked:
        return Selection(kind: kind, reason: "\(kind.name): it was there, and can be unlocked")
      case .unusable(let error): failure = failure ?? error
      }
    }
    throw failure ?? .internal("there is no storage to choose")
  }
}

/// The results of the probes of storages, in the order of the table.
typealias Probes = [(kind: StorageKind, probe: StorageProbe)]

extension Probes {
  /// Probes the storages that matter; external ones, which are slow, only to choose between them.
  ///
  /// A user who names a directory expects the store there, not in a keyring.
  init(_ context: StorageContext, pin: Pin?) async {
    let options = context.options
    let isChoice = pin == nil && options.storage == nil && !options.namesDirectory
    await self.init(
      of: StorageKind.all.filter { $0.isExternal ? isChoice : pin == nil || pin?.kind == $0 },
      context)
  }

  init(of kinds: [StorageKind], _ context: StorageContext) async {
    self = []
    for kind in kinds { append((kind, await kind.probe(context))) }
  }

  subscript(kind: StorageKind) -> StorageProbe? { first { $0.kind == kind }?.probe }
}

extension StorageError {
  fileprivate static let notJoinedYet = StorageError(
    .unavailable,
    "--cluster or KISTD_CLUSTER is set, but this machine has not joined a shared vault",
    hint:
      "make a vault with `kistd vault init`, or join one with `kistd vault join`; or remove --cluster "
      + "and KISTD_CLUSTER")

  fileprivate static func elsewhere(_ kind: StorageKind, asked: StorageKind) -> StorageError {
    StorageError(
      .unavailable, "credentials are kept in \(kind.name), but \(asked.name) was requested",
      hint:
        "move them with \(asked.migration); or name another store with --data, or remove the "
        + "option or variable that requests \(asked.name)")
  }
}

extension OpenStorage {
  /// Selects and opens a storage, at a start or a reload; `start` is when kistd started.
  static func open(
    _ context: StorageContext, since start: ContinuousClock.Instant = .now
  ) async throws(StorageError) -> OpenStorage {
    let options = context.options
    let pinFile = PinFile(path: options.pinFile)
    let written = try pinFile.read()
    removeUnfinished(of: pinFile.path)
    let probes = await Probes(context, pin: written)
    let pin = written.map { pinFile.settled($0, on: probes[$0.kind]) }
    let selection = try Selection.select(
      asked: options.storage, pin: pin, namesCluster: options.clusterSocket != nil, probes)
    let kind = selection.kind
    var storage = kind.served(try await kind.open(context, pin), options)
    if pin == nil {
      let new = Pin(kind: kind, storeID: storage.id)
      storage.credentials = storage.credentials.pinning { () throws(StorageError) in
        try pinFile.write(new, insteadOf: nil)
      }
    }
    storage.reason = selection.reason
    storage.access = storage.access.reporting(reason: selection.reason, since: start)
    return storage
  }
}

struct ProbeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd probe",
    abstract:
      "Print which storage kistd would open, and why. Does not read or change any credential.",
    usage: "kistd probe [OPTIONS]")

  @OptionGroup var output: JSONOption

  @Flag(help: "Print only the program that provides the keyring, as JSON. Starts no program.")
  var provider = false

  @Option(
    help: .value("kind", "The storage: auto, \(StorageKind.namesInHelp) (default: auto)."),
    completion: .list(StorageKind.namesOfOption))
  var storage: String?

  @Flag(help: "Also check what `kistd --detach` needs.")
  var detach = false

  @OptionGroup var store: StoreOptions

  @OptionGroup var vault: VaultOptions
}

/// Runs `kistd probe`.
///
/// The exit status is that of the error if kistd would open no storage, or would open it locked.
func probe(
  _ arguments: [String], environment: @escaping @Sendable (String) -> String?
) async throws(StorageError) -> CInt {
  let command = try parse(ProbeCommand.self, arguments)
  let options: Options
  do throws(StorageError) {
    options = try command.options(environment: environment) { kistd in
      kistd.storage = command.storage
      kistd.detach = command.detach
      kistd.store = command.store
      kistd.vault = command.vault
    }
  } catch {
    // `kist doctor` shows which variable is wrong.
    guard command.output.json else { throw error }
    printJSON(StorageDiagnosis(choice: .failure(error), external: []).json())
    return error.code.exitStatus
  }
  let logger = Logger.kistd(level: options.logLevel)
  let context = StorageContext(
    options: options, progress: EncryptedFile.ProgressOptions(options, logger: logger),
    environment: environment, logger: logger)
  if command.provider {
    if let provider = await context.keyringProvider() { printJSON(provider.json()) }
    return 0
  }
  let diagnosis = await StorageDiagnosis(context)
  if command.output.json { printJSON(diagnosis.json()) } else { diagnosis.lines.forEach(printLine) }
  let error =
    switch diagnosis.choice {
    case .success(let choice): choice.whyLocked
    case .failure(let error): error
    }
  return error?.code.exitStatus ?? 0
}

extension StorageDiagnosis {
  init(_ context: StorageContext) async {
    let choice: Result<Choice, StorageError>
    do throws(StorageError) {
      let pin = try PinFile(path: context.options.pinFile).read()
      let selection = try Selection.select(
        asked: context.options.storage, pin: pin,
        namesCluster: context.options.clusterSocket != nil, await Probes(context, pin: pin))
      var chosen = Choice(storage: selection.kind.rawValue, reason: selection.reason)
      do throws(StorageError) { try selection.kind.check(context) } catch {
        guard error.code == .locked else { throw error }
        chosen.whyLocked = error
      }
      try Claim.check(context.options)
      try context.options.checkLog()
      let socket = try socketLocation(context.options, context.environment).path
      // Where a program of this user listens, kistd would get that socket or not start.
      if !isListening(at: socket) {
        try checkSocketPlace(socket, environment: context.environment)
      } else if fileStatus(ofLink: socket + ".lock") != nil {
        // A kistd made this socket, not systemd. The next one checks the directory again.
        try checkSocketDirectory(directory(of: socket))
      }
      choice = .success(chosen)
    } catch { choice = .failure(error) }
    self.init(choice: choice, external: [])
    for kind in StorageKind.all where kind.isExternal {
      external.append(
        External(storage: kind.rawValue, label: kind.label, probe: await kind.probe(context)))
    }
    if case .success(let chosen) = self.choice,
      case .unusable(let error) = external.first(where: { $0.storage == chosen.storage })?.probe,
      error.code == .unavailable
    {
      self.choice = .failure(error)
    }
    // After the probes, which may have started a provider.
    provider = await context.keyringProvider()
  }

  fileprivate var lines: [String] {
    let chosen: [String] =
      switch choice {
      case .success(let choice):
        ["storage: \(choice.storage)", "reason: \(choice.reason)"]
          + (choice.whyLocked.map { ["locked: \($0.message)"] + hint(of: $0) } ?? [])
      case .failure(let error):
        ["storage: cannot be opened", "reason: \(error.message)"] + hint(of: error)
      }
    return external.reduce(chosen) { lines, other in
      switch other.probe {
      case .open(let hasCredentials, _):
        lines + ["\(other.label): open, with \(hasCredentials ? "" : "no ")credentials of kist"]
      case .locked: lines + ["\(other.label): locked"]
      case .unusable(let error):
        lines + ["\(other.label): not usable: \(error.message)"] + hint(of: error)
      }
    }
  }

  private func hint(of error: StorageError) -> [String] { error.hint.map { ["hint: \($0)"] } ?? [] }
}
