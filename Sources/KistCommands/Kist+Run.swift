package import ArgumentParser
internal import CLinux
internal import Glibc
internal import KistClient
internal import KistCore

extension Kist {
  /// Performs the command line of this process and ends the process.
  package static func start() -> Never {
    // Prevents core files with secrets and debuggers of the same user; exec(3) undoes both. Also
    // prevents crash reports of Swift's runtime, which would print registers and memory.
    kist_set_dumpable(0)
    kist_default_crash_signals()
    reserveStandardDescriptors()
    let terminal = Terminal.live
    do throws(StorageError) {
      let arguments = try CommandLine.words()
      let program = CommandLine.programName
      // On this thread, because Swift's default executor with its thread pool takes several times as
      // long to start as a whole `kist load`.
      let tasks = TaskQueue()
      Task(executorPreference: tasks) {
        Glibc.exit(await status(of: arguments, calledAs: program, on: terminal))
      }
      while true { tasks.run() }
    } catch {
      terminal.report(error, asJSON: false)
      Glibc.exit(error.code.exitStatus)
    }
  }

  /// Performs a command line and returns its exit status; reports errors.
  ///
  /// - Parameters:
  ///   - arguments: The words after the program's name.
  ///   - program: The program's name, by which a tool may call its helper.
  ///   - terminal: The terminal for help and errors.
  ///   - run: Performs the parsed command. By default it calls the command's own `run`; a test
  ///     passes other dependencies.
  package static func status(
    of arguments: [String], calledAs program: String = "kist", on terminal: Terminal,
    run: (sending any AsyncParsableCommand) async throws -> Void = runItself
  ) async -> CInt {
    do {
      do {
        try await run(try command(of: arguments, calledAs: program))
      } catch let error as StorageError {
        throw error
      } catch let exit as ExitCode {
        return exit.rawValue
      } catch  where exitCode(for: error).isSuccess {
        guard !ownWords(of: arguments).contains(where: isCluster) else {
          throw usageError("An option is not known", of: arguments)
        }
        let help = message(for: error).split(separator: "\n", omittingEmptySubsequences: false)
        try terminal.writeLines(help.map(String.init))
      } catch {
        throw usageError(message(for: error), of: arguments)
      }
      return 0
    } catch {
      var error = error as? StorageError ?? .internal("something went wrong that has no name")
      let ours = ownWords(of: arguments)
      error.hint = hint(error.hint, over: namedSocket(in: ours))
      terminal.report(error, asJSON: ours.contains("--json"))
      let name = ours.first { !$0.hasPrefix("-") }
      return name == Run.configuration.commandName ? Run.failure : error.code.exitStatus
    }
  }

  /// Returns the words of a command line without those of the command to run.
  private static func ownWords(of arguments: [String]) -> ArraySlice<String> {
    arguments.prefix { $0 != "--" && $0 != "--exec" }
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

  package static func runItself(_ command: sending any AsyncParsableCommand) async throws {
    var command = command
    try await command.run()
  }

  /// Opens standard input, output and error if they are closed, so that no one can use them.
  ///
  /// Otherwise the socket would get their number, and with it their data.
  private static func reserveStandardDescriptors() {
    for descriptor: CInt in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
      _ = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
    }
  }
}
