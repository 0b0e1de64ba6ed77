package import ArgumentParser
internal import CLinux
internal import Glibc
internal import KistClient
internal import KistSystem
internal import KistWire

/// The root of the command line.
package struct Kist: AsyncParsableCommand {
  package static let configuration = CommandConfiguration(
    abstract: "Save, load and delete credentials that kistd keeps.",
    discussion: """
      A secret comes from standard input or from a hidden prompt, never from the command line:
        printf %s "$TOKEN" |
          kist save github.com alice
        kist load github.com alice
      """,
    version: KistVersion.current,
    groupedSubcommands: [
      CommandGroup(
        name: "Credential", subcommands: [Save.self, Load.self, Delete.self, List.self, Watch.self]),
      CommandGroup(
        name: "Storage",
        subcommands: [
          Status.self, Lock.self, Unlock.self, Passphrase.self, Slots.self, Backup.self,
          Audit.self, Doctor.self,
        ]),
      CommandGroup(name: "Import and export", subcommands: [Import.self, Export.self]),
      CommandGroup(
        name: "Integration", subcommands: [Run.self, Inject.self, Helper.self, Setup.self]),
    ])

  package init() {}
}

extension Kist {
  /// Performs the command line of this process and ends the process.
  package static func start() -> Never {
    // Prevents core files, and debuggers of the same user, until exec(3). Also prevents crash
    // reports of Swift's runtime, which would print registers and memory.
    kist_set_dumpable(0)
    kist_default_crash_signals()
    reserveStandardDescriptors()
    let terminal = Terminal.live
    do throws(StorageError) {
      let arguments = try CommandLine.words()
      let program = CommandLine.programName
      // Uses this thread: the thread pool of Swift's default executor takes several times as long
      // to start as a whole `kist load`.
      let tasks = TaskQueue()
      Task(executorPreference: tasks) {
        let variable = environmentVariable("KIST_SOCKET") ?? ""
        let hasVariable = variable != "" && variable != (try? SocketLocation.usual())?.path
        Glibc.exit(
          await status(
            of: arguments, calledAs: program, on: terminal, hasVariable: hasVariable))
      }
      while true { tasks.run() }
    } catch {
      terminal.report(error, asJSON: false)
      Glibc.exit(error.code.exitStatus)
    }
  }

  /// Performs a command line and returns its exit status; reports errors.
  ///
  /// - Parameter program: the name by which a tool called its helper.
  /// - Parameter hasVariable: whether KIST_SOCKET names another socket than the usual one.
  /// - Parameter run: performs the command; a test passes another function with its own
  ///   dependencies.
  static func status(
    of arguments: [String], calledAs program: String = "kist", on terminal: Terminal,
    hasVariable: Bool = false,
    run: (sending any AsyncParsableCommand) async throws -> Void = runItself
  ) async -> CInt {
    // The words before the command of `kist run` or `kist watch`.
    let ours = arguments.prefix { $0 != "--" && $0 != "--exec" }
    do {
      do {
        try await run(try command(of: arguments, calledAs: program))
      } catch let error as StorageError {
        throw error
      } catch let exit as ExitCode {
        return exit.rawValue
      } catch  where exitCode(for: error).isSuccess {
        guard !ours.contains(where: isCluster) else {
          throw usageError("An option is not known", of: arguments)
        }
        // For `nonsense --help`, the parser would explain kist. It adds the command `help` itself.
        let first = ours.first ?? "help"
        if first != "help", !first.hasPrefix("-"), let error = noSuchCommand(among: Array(ours)) {
          throw error
        }
        try terminal.writeLines(terminal.lines(ofHelp: message(for: error)))
      } catch {
        throw usageError(message(for: error), of: arguments)
      }
      return 0
    } catch {
      var error = error as? StorageError ?? .internal("an unexpected error occurred")
      error.hint = hint(error.hint, over: namedSocket(in: ours), hasVariable: hasVariable)
      terminal.report(error, asJSON: ours.contains("--json"))
      let name = ours.first { !$0.hasPrefix("-") }
      return name == Run._commandName ? Run.failure : error.code.exitStatus
    }
  }

  /// Whether a word is one dash and letters, such as `-path`.
  ///
  /// kist has no such options, but the parser finds the `h` of `-h` in it.
  private static func isCluster(_ word: String) -> Bool {
    word.hasPrefix("-") && !word.hasPrefix("--") && word != "-h" && word != "-"
  }

  /// Returns the requested command; throws the text of `kist help`.
  private static func command(
    of arguments: [String], calledAs program: String
  ) throws -> sending any AsyncParsableCommand {
    if let helper = Helper.called(program, arguments) { return helper }
    if let load = Load.plainLine(arguments) { return load }
    try Watch.checkCommand(in: arguments)
    // For an unknown command, the parser would explain its parent command.
    if arguments.first == "help", arguments.dropFirst().first != "help",
      let error = nothingToExplain(with: Array(arguments.dropFirst()))
    {
      throw error
    }
    var command = try parseAsRoot(arguments)
    if let command = command as? any AsyncParsableCommand { return command }
    try command.run()
    return Kist()
  }

  static func runItself(_ command: sending any AsyncParsableCommand) async throws {
    var command = command
    try await command.run()
  }

  /// Opens /dev/null in place of a closed standard input, output or error.
  ///
  /// Otherwise the socket would get the number of that stream, and kistd would receive data for the
  /// stream.
  private static func reserveStandardDescriptors() {
    for descriptor: CInt in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
      _ = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
    }
  }
}
