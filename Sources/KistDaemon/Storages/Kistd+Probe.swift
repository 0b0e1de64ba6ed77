internal import ArgumentParser
internal import KistCore
internal import KistWire

struct ProbeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kistd probe",
    abstract:
      "Tell which storage kistd would open, and why; no credential is looked at or changed.",
    usage: "kistd probe [OPTIONS]")

  @Flag(help: "Print JSON, one object on a line.")
  var json = false

  @Option(help: .value("kind", "auto, \(StorageKind.namesInHelp); auto."))
  var storage: String?

  @OptionGroup var store: StoreOptions
}

/// Runs `kistd probe`; the exit status is that of the error if kistd would open no storage.
func probe(
  _ arguments: [String], environment: @escaping @Sendable (String) -> String?
) async throws(StorageError) -> CInt {
  let command = try parse(ProbeCommand.self, arguments)
  let options = try command.options(environment: environment) { kistd in
    kistd.storage = command.storage
    kistd.store = command.store
  }
  let diagnosis = await StorageDiagnosis(
    StorageContext(
      options: options, environment: environment, logger: .kistd(level: options.logLevel)))
  if command.json { printJSON(diagnosis.json()) } else { diagnosis.lines.forEach(printLine) }
  guard case .failure(let error) = diagnosis.choice else { return 0 }
  return error.code.exitStatus
}

extension StorageDiagnosis {
  /// Examines the storages as kistd does when it starts.
  init(_ context: StorageContext) async {
    let choice: Result<Choice, StorageError>
    do throws(StorageError) {
      let pin = try PinFile(path: context.options.pinFile).read()
      let selection = try Selection.select(
        asked: context.options.storage, pin: pin, await Probes(context, pin: pin))
      try selection.kind.check(context)
      choice = .success(Choice(storage: selection.kind.rawValue, reason: selection.reason))
    } catch { choice = .failure(error) }
    self.init(choice: choice, keyring: await StorageKind.libsecret.probe(context))
  }

  fileprivate var lines: [String] {
    let chosen: [String] =
      switch choice {
      case .success(let choice): ["storage: \(choice.storage)", "reason: \(choice.reason)"]
      case .failure(let error): ["storage: none", "reason: \(error.message)"] + hint(of: error)
      }
    return switch keyring {
    case .open(let hasCredentials, _):
      chosen + ["keyring: open, with \(hasCredentials ? "" : "no ")credentials of kist"]
    case .locked: chosen + ["keyring: locked"]
    case .unusable(let error): chosen + ["keyring: not usable: \(error.message)"] + hint(of: error)
    }
  }

  private func hint(of error: StorageError) -> [String] { error.hint.map { ["hint: \($0)"] } ?? [] }
}
