import KistCore
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `kist setup` {
  @Test(arguments: [
    ("terraform", "~/.terraform.d/plugins", "terraform-credentials-kist"),
    ("keyring", "~/.local/bin", "keyring"),
    ("cargo", "~/.local/bin", "cargo-credential-kist"),
  ])
  func `has the link made to the program that was called, where no kist is on PATH`(
    tool: String, folder: String, link: String
  ) async {
    var machine = Machine.healthy
    machine.files["/usr/bin/kist"] = nil
    machine.program = "/opt/my kist/bin/kist"
    let said = await setUp(tool, on: machine)
    #expect(
      said.contains("mkdir -p \(folder) && ln -s '/opt/my kist/bin/kist' \(folder)/\(link)"))
    #expect(!said.contains("command -v"))
  }

  @Test(arguments: [
    (
      false, "/usr/bin:/home/u/.local/bin",
      #"hint: make the link in a directory of PATH: `mkdir -p ~/.local/bin && "#
        + #"ln -s "$(command -v kist)" ~/.local/bin/cargo-credential-kist`"#
    ),
    (
      false, "/usr/bin",
      #"hint: make the link: `mkdir -p ~/.local/bin && ln -s "$(command -v kist)" "#
        + #"~/.local/bin/cargo-credential-kist`; then add its directory to PATH: "#
        + #"`export PATH="$HOME/.local/bin:$PATH"`, here and in ~/.profile"#
    ),
    (
      true, "/usr/bin",
      "hint: it is in ~/.local/bin; add that directory to PATH: "
        + #"`export PATH="$HOME/.local/bin:$PATH"`, here and in ~/.profile"#
    ),
  ])
  func `says what a link lacks`(isThere: Bool, path: String, hint: String) async {
    var machine = Machine.healthy
    machine.path = path
    if isThere { machine.install("/home/u/.local/bin/cargo-credential-kist") }
    #expect(await setUp("cargo", on: machine).hasSuffix(hint + "\n"))
  }

  @Test(arguments: [
    (true, "kist: git already asks kist\n"), (false, "kist: git is already set to ask kist\n"),
  ])
  func `says that git asks kist only where it can`(isThere: Bool, expected: String) async {
    var machine = Machine.healthy
    machine.gitHelpers = ["kist"]
    if isThere { machine.install("/usr/bin/git-credential-kist") }
    #expect(await setUp("git", on: machine).hasSuffix(expected))
  }

  @Test(arguments: [
    (["store"], "git config --file /home/u/.gitconfig --replace-all credential.helper kist"),
    (
      ["cache --timeout 3600", "store"],
      "git config --file /home/u/.gitconfig --replace-all credential.helper kist"
    ),
    (
      ["store --file=/home/u/p", "kist"],
      "git config --file /home/u/.gitconfig --unset-all credential.helper '^(store|cache)( |$)'"
    ),
    (
      ["kist", "store", "manager"],
      "git config --file /home/u/.gitconfig --unset-all credential.helper '^(store|cache)( |$)'"
    ),
  ])
  func `takes git's store and cache out only after a yes or with --take-out`(
    helpers: [String], command: String
  ) async {
    var machine = Machine.healthy
    machine.install("/usr/bin/git-credential-kist")
    machine.gitHelpers = helpers
    #expect(await setUp("git", on: machine).contains("`store` writes them"))
    for (options, typed, becomes) in [
      (["--apply", "--take-out"], [], true), (["--apply"], ["y"], true),
      (["--apply"], ["n"], false),
      (["--apply"], [], false), ([], [], false),
    ] as [([String], [String], Bool)] {
      let recorder = Recorder()
      let terminal = recorder.terminal(
        input: Secret(utf8: ""), typed: typed, isTerminal: !typed.isEmpty)
      _ = await Kist.status(of: ["setup", "git"] + options, on: terminal) { parsed in
        try (parsed as? Setup)?.perform(terminal, in: machine.host) { _ in
          .internal("it ran")
        }
      }
      #expect(recorder.error.contains("kist runs: " + command) == becomes, "\(recorder.error)")
      #expect(recorder.error.contains("it ran") == becomes)
    }
  }

  @Test func `does not make docker ask a helper that is missing`() async {
    let recorder = Recorder()
    let terminal = recorder.terminal(input: Secret(utf8: ""), typed: [], isTerminal: false)
    let status = await Kist.status(of: ["setup", "docker", "--apply"], on: terminal) { command in
      try (command as? Setup)?.perform(terminal, in: Machine.healthy.host) { _ in
        .internal("a test does not")
      }
    }
    #expect(status == 7)
    #expect(recorder.error.contains("docker would find no helper"))
  }

  @Test func `leaves a third helper of git alone`() async {
    var machine = Machine.healthy
    machine.install("/usr/bin/git-credential-kist")
    machine.gitHelpers = ["manager", "store"]
    #expect(await setUp("git", on: machine).contains("which this command would replace"))
  }

  /// What the command says, and that it succeeds.
  private func setUp(_ tool: String, on machine: Machine) async -> String {
    let recorder = Recorder()
    let terminal = recorder.terminal(input: Secret(utf8: ""), typed: [], isTerminal: false)
    let status = await Kist.status(of: ["setup", tool], on: terminal) { command in
      try (command as? Setup)?.perform(terminal, in: machine.host) { _ in
        .internal("a test does not")
      }
    }
    #expect(status == 0)
    return recorder.output + recorder.error
  }
}
