internal import ArgumentParser
internal import Glibc
internal import KistClient
internal import KistInterop
internal import KistSystem

struct Run: RequiresUserStorage {
  /// The exit status for a failure before the command starts, as with env(1).
  static let failure: CInt = 125

  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run a command with secrets in its environment.",
    usage: "kist run [options] -- <command> [<words> ...]",
    discussion: """
      The secrets are for the command alone; where one is missing or locked, nothing is started. \
      With --json, errors alone are JSON.

        kist run --env PGPASSWORD=kist://db.example/alice -- psql -U alice
      """)

  @Option(
    name: .customLong("env"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A variable and its reference; may be repeated.", valueName: "name=ref"))
  var variables: [String] = []

  @Option(
    name: .customLong("env-file"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A file of variables; may be repeated.", valueName: "path"))
  var variableFiles: [String] = []

  @Option(
    name: .customLong("file"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "A variable that names a file with the secret; may be repeated.", valueName: "name=ref"))
  var files: [String] = []

  @Option(
    name: .customLong("allow-env"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Allow this variable in a file, although it can make programs run code.", valueName: "name"))
  var allowedVariables: [String] = []

  @OptionGroup var only: OnlyOptions
  @OptionGroup var prompting: PromptOptions
  @OptionGroup var common: CommonOptions

  @Argument(parsing: .postTerminator, help: "The command and its arguments.")
  var command: [String] = []

  /// Does not return: it ends this process or throws.
  func perform(
    _ storage: UserStorage, _ terminal: Terminal
  ) async throws(StorageError) {
    guard !command.isEmpty else {
      throw StorageError(
        .badRequest, "there is no command to run", hint: "write it after --, with its arguments")
    }
    let (child, files) = try await start(storage, terminal)
    let status = endOfChild(child)
    files.remove()
    Glibc.exit(status)
  }

  /// Starts the command; returns only if there are files to remove.
  ///
  /// All memory with secrets is wiped by then.
  private func start(
    _ storage: UserStorage, _ terminal: Terminal
  ) async throws(StorageError) -> (child: pid_t, files: SecretFiles) {
    let fileVariables = try read(files, "--file")
    let names = Set(fileVariables.map(\.name))
    let allVariables = try readVariableFiles() + read(self.variables, "--env")
    let services = try only.checked()
    for variable in fileVariables + allVariables { try variable.check(only: services) }
    // A file takes precedence over a variable of the same name, whose secret is then not loaded.
    let variables = allVariables.filter { !names.contains($0.name) }
    let settings = try await settings(of: variables, from: storage)
    let fileSettings = try await KistInterop.settings(of: fileVariables, from: storage)
    if fileSettings.isEmpty {
      end(replaceProcess(by: command, try ChildEnvironment(setting: settings)), terminal)
    }
    // Before the files exist, because a signal would leave them behind.
    do throws(CommandNotStarted) { try keepSignals() } catch { end(error, terminal) }
    let files = try SecretFiles(fileSettings, under: environmentVariable("XDG_RUNTIME_DIR"))
    do throws(StorageError) {
      let environment = try ChildEnvironment(
        setting: settings + files.settings)
      do throws(CommandNotStarted) {
        return (try startChild(command, environment), files)
      } catch {
        files.remove()
        end(error, terminal)
      }
    } catch {
      files.remove()
      throw error
    }
  }

  private func end(_ failure: CommandNotStarted, _ terminal: Terminal) -> Never {
    terminal.report(failure.complaint, asJSON: common.json)
    Glibc.exit(failure.exitStatus)
  }

  private func readVariableFiles() throws(StorageError) -> [Variable] {
    guard allowedVariables.allSatisfy(Variable.isName) else {
      throw StorageError(
        .badRequest, "--allow-env: this is not the name of a variable",
        hint: "give each name its own option, such as `--allow-env NODE_OPTIONS`",
        outcome: .unchanged)
    }
    var variables: [Variable] = []
    for (index, path) in variableFiles.enumerated() {
      let place = place("--env-file", index, of: variableFiles)
      guard path != "-" else {
        throw StorageError(
          .badRequest, "\(place) is a file: standard input is the command's",
          hint: "name the file; `./-` is one of that name", outcome: .unchanged)
      }
      let text = try readFile(path, upTo: Variable.longestFile, place)
      let found = try Variable.variables(inFile: text, place: place)
      for variable in found { try variable.checkRunsNoCode(allowing: allowedVariables) }
      variables += found
    }
    return variables
  }

  private func read(_ options: [String], _ name: String) throws(StorageError) -> [Variable] {
    var variables: [Variable] = []
    for (index, option) in options.enumerated() {
      variables.append(try Variable(option: option, place: place(name, index, of: options)))
    }
    return variables
  }

  /// Returns an error's name for an option: with a number, counted from 1, if there are several.
  private func place(_ option: String, _ index: Int, of all: [String]) -> String {
    all.count == 1 ? option : "\(option) number \(index + 1)"
  }
}
