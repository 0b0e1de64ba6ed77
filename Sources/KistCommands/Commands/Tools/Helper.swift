internal import ArgumentParser
internal import KistClient
internal import KistInterop
internal import KistJSON
internal import KistSystem
internal import KistWire

/// A command that another tool starts.
///
/// All its output, including errors, follows the protocol of that tool.
struct Helper: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Answer another tool that asks for a credential.",
    usage: "kist helper <tool> [<words> ...]",
    discussion: """
      Other tools run this command, usually through a link such as git-credential-kist. Input and \
      output follow the tool's protocol.

        printf '%s\\n' protocol=https \\
          host=github.com |
          kist helper git get
      """)

  @Argument(help: "The tool that asks.")
  var tool: Tool

  @Argument(help: "The arguments that the tool gives, such as get, store or erase.")
  var words: [String] = []

  func run() async throws {
    let storage: UserStorage
    do throws(StorageError) { storage = try Endpoints.kistd().credentials } catch {
      storage = .failing(error)
    }
    try await perform(storage, .live, variable: environmentVariable)
  }

  /// Answers one call of a tool; throws the exit status if it is not 0.
  func perform(
    _ storage: UserStorage, _ terminal: Terminal, variable: @escaping @Sendable (String) -> String?
  ) async throws {
    guard let helper = tool.answer else { return try await answerLines(storage, terminal) }
    let call = HelperCall(
      arguments: words, variable: variable,
      readInput: { () throws(StorageError) in
        // Of these helpers, a user runs only `keyring` at a terminal, to type a password.
        tool == .keyring && terminal.inputIsTerminal
          ? try terminal.askHidden("Password: ")
          : try terminal.input(upTo: HelperCall.longestInput, "standard input")
      }, now: terminal.now)
    let answer = await helper(call, storage)
    if !answer.output.isEmpty { try terminal.writeBytes(shown(answer.output, terminal)) }
    if let complaint = answer.complaint { terminal.report(complaint, asJSON: false) }
    if answer.status != 0 { throw ExitCode(answer.status) }
  }

  private func answerLines(_ storage: UserStorage, _ terminal: Terminal) async throws {
    try terminal.writeBytes(cargoHello)
    try await terminal.answerLines(upTo: HelperCall.longestInput) { line in
      let answer = await answerCargo(
        line, storage, now: terminal.now(), askToken: terminal.askHidden)
      return shown(answer, terminal)
    }
  }

  /// Returns the output, with misleading characters escaped if a terminal shows it.
  ///
  /// A tool reads its helper's output through a pipe, and gets it byte for byte. The helper for
  /// `keyring` prints a secret for the user, as `kist load` does.
  private func shown(_ output: Secret, _ terminal: Terminal) -> Secret {
    terminal.outputIsTerminal && tool != .keyring ? visible(lines: output) : output
  }
}

extension Tool: ExpressibleByArgument {}

extension Helper {
  /// Returns the command for the call of a tool; `nil` for any other command line.
  ///
  /// A tool calls a link such as `git-credential-kist`, or `kist helper TOOL` without options of
  /// kist. Like `Load.plainLine`, this function avoids the argument parser, which would take longer
  /// than the rest of the command.
  static func called(_ program: String, _ arguments: [String]) -> Helper? {
    if let tool = Tool(program: program) { return helper(tool, arguments) }
    // Cargo starts every credential provider with this one word.
    if arguments == ["--cargo-plugin"] { return helper(.cargo, []) }
    guard arguments.first == "helper", arguments.count > 1, let tool = Tool(rawValue: arguments[1]),
      !arguments.contains(where: { isOption($0, of: tool) })
    else { return nil }
    return helper(tool, Array(arguments[2...]))
  }

  /// Whether the argument parser must read a word, because it is an option of kist.
  private static func isOption(_ word: String, of tool: Tool) -> Bool {
    tool == .keyring ? ["--", "-h", "--help"].contains(word) : word.hasPrefix("-")
  }

  private static func helper(_ tool: Tool, _ words: [String]) -> Helper {
    var helper = Helper()
    helper.tool = tool
    helper.words = words
    return helper
  }
}
