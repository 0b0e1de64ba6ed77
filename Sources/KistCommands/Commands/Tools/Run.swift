internal import ArgumentParser
internal import CLinux
internal import Glibc
internal import KistClient
internal import KistInterop
internal import KistSystem

struct Run: RequiresUserStorage {
  /// The exit status for a failure before the command starts, as with env(1).
  static let failure: CInt = 125

  static let configuration = CommandConfiguration(
    abstract: "Run a command with secrets in its environment.",
    usage: "kist run [options] -- <command> [<words> ...]",
    discussion: """
      Only the command gets the secrets. If one is missing or locked, kist does not start the \
      command. With --json, only errors are JSON.

        kist run \\
          --env PGPASSWORD=kist://db/alice \\
          -- psql -U alice
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

  /// Runs the command; never returns, but ends this process or throws.
  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    guard !command.isEmpty else {
      throw .badRequest("there is no command to run", hint: "write it after --, with its arguments")
    }
    let (child, files) = try await start(storage, terminal)
    let status = endOfChild(child)
    files.remove()
    Glibc.exit(status)
  }

  /// Starts the command.
  ///
  /// If there are no files with secrets, the command replaces this process. Otherwise this function
  /// wipes all secrets and returns, because this process must remove the files later.
  private func start(
    _ storage: UserStorage, _ terminal: Terminal
  ) async throws(StorageError) -> (child: pid_t, files: SecretFiles) {
    let fileVariables = try read(files, "--file")
    let names = Set(fileVariables.map(\.name))
    let allVariables = try readVariableFiles() + read(self.variables, "--env")
    let services = try only.checked()
    for variable in fileVariables + allVariables { try variable.check(only: services) }
    // A file takes precedence over a variable of the same name, so that its secret is not loaded.
    let variables = allVariables.filter { !names.contains($0.name) }
    let settings = try await settings(of: variables, from: storage)
    let fileSettings = try await KistInterop.settings(of: fileVariables, from: storage)
    if fileSettings.isEmpty {
      let failure = replaceProcess(by: command, try ChildEnvironment(setting: settings))
      terminal.end(failure, asJSON: common.json)
    }
    // Holds signals before the files exist. Otherwise, a signal could end kist and leave the files.
    do throws(CommandNotStarted) { try keepSignals() } catch {
      terminal.end(error, asJSON: common.json)
    }
    let files = try SecretFiles(fileSettings, under: SecretFiles.usualDirectories)
    do throws(StorageError) {
      let environment = try ChildEnvironment(setting: settings + files.settings)
      do throws(CommandNotStarted) {
        return (try startChild(command, environment), files)
      } catch {
        files.remove()
        terminal.end(error, asJSON: common.json)
      }
    } catch {
      files.remove()
      throw error
    }
  }

  private func readVariableFiles() throws(StorageError) -> [Variable] {
    guard allowedVariables.allSatisfy(Variable.isName) else {
      throw .refused(
        "--allow-env: this is not the name of a variable",
        hint: "give each name its own option, such as `--allow-env NODE_OPTIONS`")
    }
    var variables: [Variable] = []
    for (index, path) in variableFiles.enumerated() {
      let place = place("--env-file", index, of: variableFiles)
      guard path != "-" else {
        throw .refused(
          "\(place) must be a file, because the command uses standard input",
          hint: "name a file; for a file with the name `-`, write `./-`")
      }
      let text = try readFile(path, upTo: Variable.longestFile, place)
      let found = try Variable.variables(inFile: text, place: place)
      for variable in found { try variable.checkRunsNoCode(allowing: allowedVariables) }
      variables += found
    }
    return variables
  }

  private func read(_ options: [String], _ name: String) throws(StorageError) -> [Variable] {
    try options.enumerated().map { (index, option) throws(StorageError) in
      try Variable(option, of: name, place: place(name, index, of: options))
    }
  }

  /// Returns the name of an option for an error; if it is repeated, adds its number, from 1.
  private func place(_ option: String, _ index: Int, of all: [String]) -> String {
    all.count == 1 ? option : "\(option) number \(index + 1)"
  }
}
