package import ArgumentParser
internal import CLinux
internal import Glibc
internal import KistCore

extension Kist {
  /// Carries out the command line of this process, and ends it.
  package static func start() -> Never {
    // No core file with secrets in it, and no debugger of the same user; exec(3) gives both back. And
    // no report of a crash by Swift's runtime, which would print registers and memory.
    kist_set_dumpable(0)
    kist_default_crash_signals()
    reserveStandardDescriptors()
    let terminal = Terminal.live
    guard let arguments = CommandLine.validArguments else {
      let error = StorageError.badRequest("an argument is not UTF-8")
      terminal.report(error, asJSON: false)
      Glibc.exit(error.code.exitStatus)
    }
    let program = CommandLine.programName
    CallingThread.run {
      Glibc.exit(await status(of: arguments, calledAs: program, on: terminal))
    }
  }

  /// Carries out a command line and gives its exit status; what goes wrong is reported.
  ///
  /// - Parameters:
  ///   - arguments: the words after the program's name.
  ///   - program: that name, by which a tool may call its helper.
  ///   - terminal: where help and errors go.
  ///   - run: carries out the command that was parsed; the command's own `run` unless a test
  ///     gives it other dependencies.
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
        try terminal.write(message(for: error) + "\n")
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

  /// The words of a command line that are not those of a command that is to run.
  private static func ownWords(of arguments: [String]) -> ArraySlice<String> {
    arguments.prefix { $0 != "--" && $0 != "--exec" }
  }

  /// Whether a word is letters after one dash, such as `-path`: kist has no such options, but the
  /// parser finds the `h` of `-h` in it.
  private static func isCluster(_ word: String) -> Bool {
    word.hasPrefix("-") && !word.hasPrefix("--") && word != "-h" && word != "-"
  }

  /// The command that is asked for; what `kist help` has to say is thrown.
  private static func command(
    of arguments: [String], calledAs program: String
  ) throws -> sending any AsyncParsableCommand {
    if let helper = Helper.called(program, arguments) { return helper }
    if let load = Load.plainLine(arguments) { return load }
    try Watch.checkCommand(in: arguments)
    // Of a command that there is none of, the parser would explain the one above it.
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

  /// Takes the descriptors of standard input, output and error, where they are closed, for what can
  /// be neither read nor written: the socket would take their place, and get what they should.
  private static func reserveStandardDescriptors() {
    for descriptor: CInt in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
      _ = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
    }
  }
}
