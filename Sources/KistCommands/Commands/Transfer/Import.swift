internal import ArgumentParser
internal import Glibc
internal import KistCore
internal import KistInterop
internal import KistSystem
internal import KistWire

struct Import: RequiresUserStorage {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Import credentials from another program's file.",
    usage: "kist import <format> [<file>] [options]",
    discussion: """
      Shows the names of what there is, never a value, and asks before it saves. What is stored \
      already is not saved again, and the file stays as it is.

        kist import netrc --dry-run
        kist import bitwarden export.json
      """)

  static let threads = 32

  @Argument(help: ArgumentHelp("What the file is.", valueName: "format"))
  var source: ImportSource

  @Argument(
    help: ArgumentHelp(
      "The file, - for standard input, or where that program keeps it.", valueName: "file"))
  var file: String?

  @Flag(help: "Show what there is, and save nothing.")
  var dryRun = false

  @Option(
    help: ArgumentHelp(
      "Where another credential has the name: keep, replace or fail.", valueName: "choice"))
  var onConflict = ConflictChoice.fail

  @Flag(help: "Do not ask whether to save.")
  var yes = false

  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    let path = file ?? source.usualPlace(environmentVariable)
    guard path != nil || source == .foreign(.keyring) else {
      throw StorageError(
        .badRequest, "the file is not named, and has no usual place",
        hint: "`kist import --help` shows where to write its name", outcome: .unchanged)
    }
    if file == nil, let path, unsafe access(path, F_OK) != 0 {
      throw StorageError(
        .badRequest, "there is nothing at \(path)",
        hint: source == .pass
          ? "name the folder: `kist import pass FOLDER`"
          : "name the file: `kist import \(source.defaultValueDescription) FILE`",
        outcome: .unchanged)
    }
    let credentials = try source.read(
      path, prompting: terminal.inputIsTerminal && !prompting.noPrompt, terminal)
    var progress = ProgressBar("comparing", on: terminal)
    let plan = try await ImportPlan(
      of: credentials, lastCounts: onConflict == .replace, with: storage,
      progress: { progress.show($0, of: $1) })
    progress.clear()
    try terminal.show(plan, asJSON: common.json)
    if !common.json { terminal.noteLeftOut(plan, of: credentials) }
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
    if common.json {
      try terminal.writeJSON(plan.json(saved: changes.count))
    } else {
      try terminal.reportSuccess(plan.summary(saved: changes.count))
      if let path, path != "-" {
        let advice =
          plan.takesAll(with: changes)
          ? "; remove \(source.whatCanGo) once all works without it"
          : ", and has what was not taken"
        try terminal.reportSuccess("\(path) is as it was\(advice)")
      }
    }
  }

  private func changes(of plan: ImportPlan) throws(StorageError) -> [SaveRequest] {
    let conflicts = plan.count(.differs) + plan.count(.clash)
    guard onConflict != .fail || conflicts == 0 else {
      let have = conflicts == 1 ? "has" : "have"
      throw StorageError(
        .conflict,
        "nothing was saved: \(conflicts) of these \(have) the name of another credential",
        hint: "`--on-conflict keep` leaves what is there, `--on-conflict replace` does not",
        outcome: .unchanged)
    }
    return plan.changes(replacing: onConflict == .replace)
  }

  private func confirm(_ count: Int, _ terminal: Terminal) throws(StorageError) {
    if yes { return }
    guard terminal.inputIsTerminal else {
      throw StorageError(
        .badRequest, "nothing was saved: nobody is there to be asked",
        hint: "say with `--yes` that it may", outcome: .unchanged)
    }
    try terminal.confirm(
      "Save \(count)?", orElse: "nothing was saved",
      hint: "`--dry-run` shows what there is, and does not ask")
  }
}
