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
  func perform(_ storage: UserStorage, _ terminal: Terminal) async throws(StorageError) {
    guard !command.isEmpty else {
      throw .badRequest("there is no command to run", hint: "write it after --, with its arguments")
    }
    let (child, files) = try await start(storage, terminal)
    let status = endOfChild(child)
    files.remove()
    Glibc.exit(status)
  }

  /// Starts the command; returns, with all secrets wiped, only if there are files to remove.
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
      let failure = replaceProcess(by: command, try ChildEnvironment(setting: settings))
      terminal.end(failure, asJSON: common.json)
    }
    // Before the files exist, because a signal would leave them behind.
    do throws(CommandNotStarted) { try keepSignals() } catch {
      terminal.end(error, asJSON: common.json)
    }
    let files = try SecretFiles(fileSettings, under: environmentVariable("XDG_RUNTIME_DIR"))
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
      try Variable(option: option, place: place(name, index, of: options))
    }
  }

  /// Returns the name of an option for an error; adds a number, from 1, if there are several.
  private func place(_ option: String, _ index: Int, of all: [String]) -> String {
    all.count == 1 ? option : "\(option) number \(index + 1)"
  }
}

/// Files with secrets, never on a disk: in a directory of their own under $XDG_RUNTIME_DIR.
struct SecretFiles {
  private let directory: String
  private var names: [String] = []

  /// Writes a file for each setting, named like the variable; throws if it would be on a disk.
  init(_ settings: [Setting], under runtimeDirectory: String?) throws(StorageError) {
    directory = try Self.makeDirectory(under: runtimeDirectory)
    for setting in settings {
      do throws(StorageError) {
        try writeNewFile(path(of: setting.name), setting.value)
        names.append(setting.name)
      } catch {
        remove()
        throw error
      }
    }
  }

  /// The variables with the paths of the files.
  var settings: [Setting] {
    names.map { Setting(name: $0, value: Secret(utf8: path(of: $0))) }
  }

  /// Removes the directory, including files that the command created in it.
  func remove() { unsafe kist_remove_directory(directory) }

  private func path(of name: String) -> String { "\(directory)/\(name)" }

  private static func makeDirectory(
    under runtimeDirectory: String?
  ) throws(StorageError) -> String {
    guard let runtimeDirectory, runtimeDirectory.hasPrefix("/") else {
      throw .refused(
        "kist cannot make the files of --file: XDG_RUNTIME_DIR is not set", as: .unavailable,
        hint: "log in with a session, or pass the secret with --env")
    }
    guard isInMemory(runtimeDirectory) else {
      throw .refused(
        "kist cannot make the files of --file: XDG_RUNTIME_DIR is not on a tmpfs",
        as: .unavailable,
        hint: "pass the secret with --env; with --file, kist writes secrets only to memory")
    }
    guard fileStatus(of: runtimeDirectory)?.isPrivate == true else {
      throw .refused(
        "kist cannot make the files of --file: others can use XDG_RUNTIME_DIR", as: .unavailable,
        hint: "the directory must be yours and have mode 700; or pass the secret with --env")
    }
    if let path = makeTemporaryDirectory("\(runtimeDirectory)/kist-run.") { return path }
    throw .refused(
      "kist cannot make files in XDG_RUNTIME_DIR: \(systemText(of: errno))", as: .unavailable)
  }

  /// Whether a directory is on a file system in memory: statfs(2).
  private static func isInMemory(_ path: String) -> Bool {
    let (tmpfs, ramfs) = (0x0102_1994, 0x8584_58f6)
    var status = statfs()
    guard unsafe statfs(path, &status) == 0 else { return false }
    return [tmpfs, ramfs].contains(Int(status.f_type))
  }
}
