internal import ArgumentParser
internal import KistCore
internal import KistInterop
internal import KistSystem

struct Setup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the line that makes another tool ask kist.",
    usage: "kist setup <tool> [options]",
    discussion: """
      Changes nothing without --apply. With it, kist runs the command of git or pip, or adds one line \
      to docker's config.json. For secret-service, kist writes four files, so that programs that use a \
      keyring get its credentials. Set up other tools by hand, as shown.

        kist setup git --apply
      """)

  @Argument(help: "The tool to set up, or secret-service.")
  var tool: SetupSubject

  @Flag(help: "Set up the tool, after showing the change.")
  var apply = false

  @Flag(help: "Take git's helpers `store` and `cache` out without asking.")
  var takeOut = false

  @Flag(help: "Remove the files that kist wrote for secret-service.")
  var undo = false

  @Flag(help: "Set up secret-service although another keyring has items.")
  var hideKeyring = false

  func run() async throws {
    try perform(.live, in: .live, running: runProgram)
  }

  /// Prints the setup lines, or applies them.
  ///
  /// `run` runs a command of the tool, and returns the error if that fails.
  func perform(
    _ terminal: Terminal, in host: Host, running run: ([String]) -> StorageError?
  ) throws(StorageError) {
    guard case .tool(let tool) = tool else { return try setUpSecretService(terminal, in: host) }
    guard !undo else {
      throw .refused(
        "kist undoes only the setup of secret-service",
        hint:
          "`integrations.md` in kist's documentation shows how to undo the setup of "
          + tool.rawValue)
    }
    if apply, tool == .docker { try checkDocker(in: host) }
    let setup = tool.setup(
      linkingTo: host.linkTarget, dockerFile: host.dockerFile, docker: host.dockerState,
      podman: host.podmanState)
    for line in setup.lines {
      terminal.writeErrorLines(["in \(line.place):"])
      try terminal.writeLines([line.text])
    }
    if let words = setup.command {
      if !setup.lines.isEmpty { terminal.writeErrorLines(["in a shell:"]) }
      try terminal.writeLines([words.joined(separator: " ")])
    }
    let missing = setup.program.flatMap { host.path(of: $0) == nil ? $0 : nil }
    if let missing {
      terminal.note(
        "there is no \(missing) on PATH, so the tool cannot ask kist",
        hint: host.hint(atMissing: missing))
    }
    func noteDone(_ name: String) {
      terminal.note(
        missing == nil ? "\(name) already asks kist" : "\(name) is already set to ask kist")
    }
    setup.done.forEach(noteDone)
    guard let words = setup.command else {
      guard apply else { return }
      if tool == .docker {
        guard missing == nil else {
          throw .refused(
            "docker's configuration was not changed, because docker would find no helper",
            as: .unavailable, hint: "make the link that is named above first")
        }
        return try applyToDocker(terminal, in: host)
      }
      throw .refused(
        "kist cannot set up \(tool.rawValue) by itself",
        hint: "add each line at the place that is named above it")
    }
    if let asked = setup.asked {
      let lines = host.lines(asked.command)
      let helpers = asked.helpers(in: lines)
      if let file = asked.systemFileWithPlainHelper(in: lines) {
        terminal.note(
          "git also asks a helper of \(file), which keeps passwords outside kist",
          hint: "to ask only kist: `git config --global --replace-all credential.helper '' && "
            + "git config --global --add credential.helper kist`")
      }
      if let change = asked.takingOut(of: lines, thenRunning: words) {
        return try takeOut(change, terminal, running: run)
      }
      if helpers.contains(asked.kist) { return noteDone(tool.rawValue) }
      if !helpers.isEmpty {
        if apply { throw asked.conflict }
        terminal.report(asked.conflict, asJSON: false)
      }
    }
    guard apply else { return }
    if let missing, tool == .keyring {
      throw .refused(
        "pip's configuration was not changed, because pip would find no \(missing)",
        as: .unavailable, hint: "make the link that is named above first")
    }
    if let failure = run(words) { throw failure }
  }

  /// Reports helpers of git that store passwords outside of kist, and runs the commands that remove
  /// them from git's configuration.
  private func takeOut(
    _ change: ToolSetup.Asked.TakingOut, _ terminal: Terminal,
    running run: ([String]) -> StorageError?
  ) throws(StorageError) {
    let files = change.passwords.map(shellSyntax)
    let imports = files.map { file in
      "`kist import git-credentials" + (file == "~/.git-credentials" ? "`" : " \(file)`")
    }.joined(separator: ", ")
    let found = StorageError.refused(
      "git already has another helper, which keeps passwords outside kist"
        + (files.isEmpty
          ? "" : "; `store` writes them to \(files.joined(separator: ", ")) in plain text"),
      as: .conflict,
      hint: (imports.isEmpty ? "" : "import them: \(imports); ")
        + "take the helper out: `kist setup git --apply --take-out`")
    guard apply else { return terminal.report(found, asJSON: false) }
    if !takeOut {
      guard terminal.inputIsTerminal else { throw found }
      terminal.report(found, asJSON: false)
      try terminal.confirm(
        "Take `store` and `cache` out of git's configuration? No file with passwords is removed.",
        orElse: "git's configuration was not changed",
        hint: imports.isEmpty
          ? "`kist setup git --apply` asks again" : "import the passwords first: \(imports)")
    }
    for command in change.commands {
      terminal.writeErrorLines(["kist runs: " + command.map(shellQuoted).joined(separator: " ")])
      if let failure = run(command) { throw failure }
    }
  }
}

/// Returns a path from git's configuration in shell syntax; one with quotes of the shell stays.
///
/// git removes its own quotes, so a path can have spaces without quotes.
private func shellSyntax(ofPath path: String) -> String {
  guard !path.contains(where: { #"'"\$"#.contains($0) }) else { return path }
  guard path.hasPrefix("~"), let slash = path.firstIndex(of: "/") else { return shellQuoted(path) }
  // The shell replaces a ~ only outside of quotes.
  return path[...slash] + shellQuoted(String(path[path.index(after: slash)...]))
}

/// A tool with a helper, or the service that programs with a keyring use.
enum SetupSubject: ExpressibleByArgument, Equatable {
  case tool(Tool)
  case secretService

  init?(argument: String) {
    if argument == "secret-service" {
      self = .secretService
    } else {
      guard let tool = Tool(argument: argument) else { return nil }
      self = .tool(tool)
    }
  }

  static var allValueStrings: [String] { Tool.allCases.map(\.rawValue) + ["secret-service"] }

  static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}
