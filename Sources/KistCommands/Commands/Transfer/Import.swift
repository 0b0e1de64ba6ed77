internal import ArgumentParser
internal import Glibc
internal import KistCore
internal import KistInterop
internal import KistSystem
internal import KistTerminal
internal import KistWire

struct Import: RequiresUserStorage {
  static let configuration = CommandConfiguration(
    abstract: "Import credentials from another program's file.",
    usage: "kist import <format> [<file>] [options]",
    discussion: """
      Shows the names of the credentials in the file, never a secret, and asks before it saves. \
      Skips what is stored already, and does not change the file.

        kist import netrc --dry-run
        kist import bitwarden export.json
      """)

  static let threads = 32

  @Argument(help: ArgumentHelp("The format of the file.", valueName: "format"))
  var source: ImportSource

  @Argument(
    help: ArgumentHelp(
      "The file, or - for standard input. Without it, the program's usual file.", valueName: "file")
  )
  var file: String?

  @Flag(help: "Show what would be imported, and save nothing.")
  var dryRun = false

  @Option(
    help: ArgumentHelp(
      "For a name that another credential already has: keep, replace or fail.",
      valueName: "choice"))
  var onConflict = ConflictChoice.fail

  @Flag(help: "Do not ask whether to save.")
  var yes = false

  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    let path = file ?? source.usualPlace(environmentVariable)
    guard path != nil || source == .foreign(.keyring) else {
      throw .refused(
        "no file was given, and this format has no usual file",
        hint: "name the file after the format; see `kist import --help`")
    }
    if file == nil, let path, unsafe access(path, F_OK) != 0 {
      throw .refused(
        "there is nothing at \(path)",
        hint: source == .pass
          ? "name the folder: `kist import pass FOLDER`"
          : "name the file: `kist import \(source.defaultValueDescription) FILE`")
    }
    let credentials = try source.read(
      path, isNamed: file != nil, prompting: terminal.inputIsTerminal && !prompting.noPrompt,
      terminal)
    var progress = ProgressBar("comparing", on: terminal)
    let plan = try await ImportPlan(
      of: credentials, lastCounts: onConflict == .replace, with: storage
    ) { progress.show($0, of: $1) }
    progress.clear()
    try terminal.show(plan, asJSON: common.json)
    if !common.json {
      terminal.noteLeftOut(plan, of: credentials)
      terminal.noteNeighbours(in: plan)
    }
    if credentials.mayBeCut {
      terminal.note(
        "the file does not end with the number of its credentials, so it may have been cut short",
        hint: "exports of earlier versions have no such line; compare the number of credentials "
          + "with the original")
    }
    if plan.rows.isEmpty, !common.json {
      return try terminal.reportSuccess("there is nothing to import")
    }
    if dryRun {
      if common.json { try terminal.writeJSON(plan.json(saved: 0)) }
      return
    }
    let changes = try changes(of: plan)
    if !changes.isEmpty { try confirm(changes.count, terminal) }
    try await terminal.save(changes, to: storage)
    let count = changes.count
    try terminal.reportSuccess(
      plan.summary(saved: count), or: plan.json(saved: count), asJSON: common.json)
    if let path, path != "-", !common.json {
      let advice =
        plan.takesAll(with: changes)
        ? "; when everything works without it, remove \(source.whatCanGo)"
        : "; it still has what was not imported"
      try terminal.reportSuccess("kist did not change \(path)\(advice)")
    }
  }

  private func changes(of plan: ImportPlan) throws(StorageError) -> [SaveRequest] {
    if onConflict == .fail, let conflict = plan.conflict { throw conflict }
    return plan.changes(replacing: onConflict == .replace)
  }

  private func confirm(_ count: Int, _ terminal: Terminal) throws(StorageError) {
    if yes { return }
    guard terminal.canAsk else {
      throw .refused(
        "nothing was saved: without a terminal, kist cannot ask for confirmation",
        hint: "to confirm, give `--yes`")
    }
    try terminal.confirm(
      "Save \(count)?", orElse: "nothing was saved",
      hint: "`--dry-run` shows the credentials, and does not ask")
  }
}

extension Terminal {
  /// Prints the names of the credentials to import: a table on a terminal, or lines for a program.
  func show(_ plan: ImportPlan, asJSON: Bool) throws(StorageError) {
    guard outputIsTerminal, !asJSON else {
      for row in plan.rows { try writeRow(columns(of: row), or: row.json(), asJSON: asJSON) }
      return
    }
    if plan.rows.isEmpty { return }
    let rows = [["STATE", "SERVICE", "ACCOUNT", "LABEL"]] + plan.rows.map(columns)
    let lines = table(rows, width: outputWidth) { widths in
      (1...3).max { widths[$0] < widths[$1] } ?? 1
    }
    try writeLines(lines)
  }

  /// Reports the parts of the file that are not imported, and where they are.
  func noteLeftOut(_ plan: ImportPlan, of credentials: ForeignCredentials) {
    for what in LeftOut.allCases {
      guard let places = plan.leftOut[what] else { continue }
      // The items of a keyring have no numbers that a user could look up.
      let names = places.prefix(8).compactMap { place in
        credentials.name(of: place) ?? (credentials.unit == "item" ? nil : "\(place)")
      }
      let rest = places.count > 8 ? ["\(places.count - 8) more"] : []
      let unit = places.count == 1 ? credentials.unit : credentials.unit.plural
      // Something is in a line, but an entry is the thing itself.
      let text =
        switch credentials.unit {
        case "item": "\(places.count)" + (names.isEmpty ? "" : ": \(listed(names + rest))")
        case "line": "\(places.count), in \(unit) \(listed(names + rest))"
        default: "\(places.count): \(unit) \(listed(names + rest))"
        }
      note("not imported: \(what.words) (\(text))")
    }
  }

  /// Reports new credentials beside a stored one that a tool may get no more.
  func noteNeighbours(in plan: ImportPlan) {
    let pairs = plan.neighbours
    for pair in pairs.prefix(8) {
      let consequence =
        pair.new.service == pair.stored.service
        ? "a tool that names no account then gets the new one"
        : "kist keeps both, because tools look for different names"
      note("\(name(pair.new)) is new beside the stored \(name(pair.stored)): \(consequence)")
    }
    if pairs.count > 8 { note("\(pairs.count - 8) more are new beside a stored one") }
  }

  /// Saves the changes in portions of up to `largestPortion` concurrent requests.
  ///
  /// After a signal, stops before the next portion.
  func save(_ changes: [SaveRequest], to storage: UserStorage) async throws(StorageError) {
    let signals = try noteSignals()
    var progress = ProgressBar("saving", on: self)
    var (saved, overtaken) = (0, 0)
    var (signal, failure): (CInt?, StorageError?)
    for portion in changes.portionsByAge {
      signal = signals.first()
      guard signal == nil, failure == nil else { break }
      for result in await concurrently(portion, storage.save) {
        switch result {
        case .success: saved += 1
        case .failure(let error) where error.code == .conflict: overtaken += 1
        case .failure(let error): failure = failure ?? error
        }
      }
      progress.show(saved, of: changes.count)
    }
    // A signal that ends a prompt also makes it fail; the signal takes precedence.
    if failure != nil { signal = signal ?? signals.first() }
    signals.end()
    progress.clear()
    if let signal {
      report(.interrupted(saved, of: changes.count), asJSON: false)
      signals.raiseUnblocked(signal)
      throw .interrupted(saved, of: changes.count)
    }
    if let failure { throw failure.afterSaving(saved, of: changes.count) }
    guard overtaken == 0 else {
      throw StorageError(
        .conflict,
        "\(saved) of \(changes.count) were saved; another program changed the others meanwhile",
        hint: "nothing was overwritten; run the import again to see them")
    }
  }
}

private func name(_ key: CredentialKey) -> String {
  key.account.isEmpty ? key.service : "\(key.service) \(key.account)"
}

/// Returns words as `a`, `a and b` or `a, b and c`.
private func listed(_ words: [String]) -> String {
  guard let last = words.last, words.count > 1 else { return words.first ?? "" }
  return words.dropLast().joined(separator: ", ") + " and " + last
}

extension String {
  fileprivate var plural: String { hasSuffix("y") ? dropLast() + "ies" : self + "s" }
}

extension StorageError {
  fileprivate static func interrupted(_ saved: Int, of all: Int) -> StorageError {
    StorageError(.unavailable, "interrupted: \(saved) of \(all) were saved", hint: goesOn)
  }

  /// Returns this error with the number of saved credentials.
  ///
  /// If some were saved, clears the outcome `unchanged`.
  fileprivate func afterSaving(_ saved: Int, of all: Int) -> StorageError {
    var error = self
    error.message += "; \(saved) of \(all) were saved"
    guard saved > 0 else { return error }
    let remedy = [.badRequest, .wrongPassphrase].contains(code) ? nil : hint
    error.hint = [remedy, Self.goesOn].compactMap(\.self).joined(separator: "; ")
    if outcome == .unchanged { error.outcome = nil }
    return error
  }

  private static let goesOn = "run the import again to continue; it saves nothing twice"
}

extension ImportPlan {
  /// The error for credentials with the name of a stored one or of another one in the file.
  fileprivate var conflict: StorageError? {
    let (all, inFile) = (count(.differs) + count(.clash), clashesInFile)
    guard all > 0 else { return nil }
    let (other, keeping, replacing) =
      switch inFile {
      case 0: ("a stored one", "to keep the stored secrets", "to replace them")
      case all: ("another one in the file", "to save the first of them", "to save the last")
      default:
        (
          "a stored one or another one in the file",
          "to keep the stored secrets and save the first in the file",
          "to save the last in the file"
        )
      }
    return .refused(
      "nothing was saved: \(all) of the credentials \(all == 1 ? "has" : "have") the same name as \(other)",
      as: .conflict,
      hint: "\(keeping): `--on-conflict keep`; \(replacing): `--on-conflict replace`")
  }

  func summary(saved: Int) -> String {
    let (same, kept) = (count(.same), rows.count - count(.same) - saved)
    return "saved \(saved)"
      + (same == 0 ? "" : "; \(same) \(same == 1 ? "was" : "were") stored already")
      + (kept == 0 ? "" : "; \(kept) skipped, because another credential has the same name")
  }
}

private func columns(of row: ImportPlan.Row) -> [String] {
  let credential = row.entry.credential
  return [
    row.state.rawValue, credential.key.service, credential.key.account, credential.label ?? "",
  ]
}
