import KistCore
import KistSystem
import Synchronization
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
    (["kist"], "system", "credential.helper store", true),
    (["", "kist"], "system", "credential.helper cache", false),
    (["kist"], "system", "credential.helper manager", false),
    (["kist"], "system", "credential.https://git.example.helper store", false),
    (["kist"], "command", "credential.helper store", false),
  ])
  func `reports a helper in the system configuration of git`(
    helpers: [String], scope: String, setting: String, isAsked: Bool
  ) async {
    var machine = Machine.healthy
    machine.install("/usr/bin/git-credential-kist")
    machine.gitLines = ["\(scope)\tfile:/etc/gitconfig\t\(setting)"]
    machine.gitLines += helpers.map { "global\tfile:/home/u/.gitconfig\tcredential.helper \($0)" }
    let said = await setUp("git", on: machine)
    let note = "git also asks a helper of /etc/gitconfig, which keeps passwords outside kist\n"
    #expect(said.contains(note) == isAsked, "\(said)")
    #expect(said.contains("git already asks kist"))
  }

  /// Lines of git's configuration, and the commands that take `store` and `cache` out.
  struct Plain: Sendable {
    static let unset = "--unset-all credential.helper '^(store|cache)( |$)'"
    static let set = "git config --global credential.helper kist"
    var helpers: [String]
    var lines: [String] = []
    var files = "~/.git-credentials"
    var commands: [String]
  }

  @Test(arguments: [
    Plain(
      helpers: ["store"],
      commands: ["git config --file /home/u/.gitconfig " + Plain.unset, Plain.set]
    ),
    Plain(
      helpers: ["cache --timeout 3600", "store"],
      commands: ["git config --file /home/u/.gitconfig " + Plain.unset, Plain.set]),
    Plain(
      helpers: ["store --file=/home/u/p", "kist"], files: "/home/u/p",
      commands: ["git config --file /home/u/.gitconfig " + Plain.unset]),
    Plain(
      helpers: ["kist", "store --file ~/p", "manager"], files: "~/p",
      commands: ["git config --file /home/u/.gitconfig " + Plain.unset]),
    Plain(
      helpers: ["kist"],
      lines: ["global\tfile:/home/u/.config/git/config\tcredential.helper store"],
      commands: ["git config --file /home/u/.config/git/config " + Plain.unset]),
    Plain(
      helpers: ["store"],
      lines: ["global\tfile:/home/u/.config/git/config\tcredential.helper store"],
      commands: [
        "git config --file /home/u/.gitconfig " + Plain.unset,
        "git config --file /home/u/.config/git/config " + Plain.unset, Plain.set,
      ]),
    Plain(
      helpers: [],
      lines: ["global\tfile:/home/u/.gitconfig\tcredential.https://github.com.helper store"],
      commands: [
        "git config --file /home/u/.gitconfig --unset-all credential.https://github.com.helper "
          + "'^(store|cache)( |$)'", Plain.set,
      ]),
    Plain(
      helpers: ["kist"],
      lines: [
        "global\tfile:/home/u/.gitconfig\tcredential.https://git.example.helper store --file ~/p"
      ],
      files: "~/p",
      commands: [
        "git config --file /home/u/.gitconfig --unset-all credential.https://git.example.helper "
          + "'^(store|cache)( |$)'"
      ]),
    Plain(
      helpers: ["kist"], lines: ["local\tfile:.git/config\tcredential.helper store"],
      commands: ["git config --file .git/config " + Plain.unset]),
  ])
  func `takes git's store and cache out of every file, only after a yes or with --take-out`(
    plain: Plain
  ) async {
    var machine = Machine.healthy
    machine.install("/usr/bin/git-credential-kist")
    machine.gitHelpers = plain.helpers
    machine.gitLines = plain.lines
    let said = await setUp("git", on: machine)
    #expect(said.contains("`store` writes them to \(plain.files) in plain text"), "\(said)")
    let path = plain.files == "~/.git-credentials" ? "" : " " + plain.files
    #expect(said.contains("`kist import git-credentials\(path)`"), "\(said)")
    for (options, typed, isDone) in [
      (["--apply", "--take-out"], [], true), (["--apply"], ["y"], true),
      (["--apply"], ["n"], false),
      (["--apply"], [], false), ([], [], false),
    ] as [([String], [String], Bool)] {
      let recorder = Recorder()
      let terminal = recorder.terminal(
        input: Secret(utf8: ""), typed: typed, isTerminal: !typed.isEmpty)
      let ran = Mutex<[String]>([])
      _ = await Kist.status(of: ["setup", "git"] + options, on: terminal) { parsed in
        try (parsed as? Setup)?.perform(terminal, in: machine.host) { words in
          ran.withLock { $0.append(words.map(shellQuoted).joined(separator: " ")) }
          return nil
        }
      }
      #expect(ran.withLock { $0 } == (isDone ? plain.commands : []))
      #expect(plain.commands.allSatisfy { recorder.error.contains("kist runs: \($0)") } == isDone)
    }
  }

  @Test(arguments: [
    ("/home/u/my p", "'/home/u/my p'"), ("~/my p", "~/'my p'"), ("~alice/p;q", "~alice/'p;q'"),
    ("'/home/u/my p'", "'/home/u/my p'"), ("~/'my p'", "~/'my p'"), (#"~/my\ p"#, #"~/my\ p"#),
    (#""$HOME/my p""#, #""$HOME/my p""#), ("~/p", "~/p"),
  ])
  func `quotes the file of git's store for the shell, unless git's configuration does`(
    file: String, quoted: String
  ) async {
    var machine = Machine.healthy
    machine.gitHelpers = ["store --file \(file)"]
    let said = await setUp("git", on: machine)
    #expect(said.contains("`store` writes them to \(quoted) in plain text"), "\(said)")
    #expect(said.contains("`kist import git-credentials \(quoted)`"), "\(said)")
  }

  @Test func `reports that git could not change its configuration, and runs no other command`()
    async
  {
    var machine = Machine.healthy
    machine.install("/usr/bin/git-credential-kist")
    machine.gitHelpers = ["store"]
    let recorder = Recorder()
    let terminal = recorder.terminal(input: Secret(utf8: ""), typed: [], isTerminal: false)
    let status = await Kist.status(of: ["setup", "git", "--apply", "--take-out"], on: terminal) {
      try ($0 as? Setup)?.perform(terminal, in: machine.host) { _ in
        runProgram(["false"])
      }
    }
    #expect(status == 7)
    #expect(
      recorder.error.contains("false did not change its configuration: it ended with status 1"))
    #expect(!recorder.error.contains(Plain.set + "\n"))
  }

  @Test func `names the configuration that docker uses`() async {
    var machine = Machine.healthy
    machine.install("/usr/bin/docker-credential-kist")
    machine.variables["DOCKER_CONFIG"] = "/home/u/docker"
    #expect(
      await setUp("docker", on: machine).contains("in /home/u/docker/config.json, a new file:\n"))
    machine.install("/home/u/docker/config.json")
    let text = await setUp("docker", on: machine)
    #expect(text.contains("in /home/u/docker/config.json, after its first {:\n"))
    #expect(text.contains("\"credsStore\": \"kist\",\n"))
  }

  @Test(arguments: [
    (true, "kist: docker already asks kist\nkist: podman already asks kist\n"),
    (
      false, "kist: docker is already set to ask kist\nkist: podman is already set to ask kist\n"
    ),
  ])
  func `says that docker and podman ask kist, and prints no line for them`(
    isThere: Bool, expected: String
  ) async {
    var machine = Machine.healthy
    if isThere { machine.install("/usr/bin/docker-credential-kist") }
    machine.homeFiles["/home/u/.docker/config.json"] = .text(
      Secret(utf8: #"{"auths": {}, "credsStore": "kist"}"#), isCut: false)
    let podman = "/home/u/.config/containers/registries.conf.d/kist.conf"
    machine.homeFiles[podman] = .text(
      Secret(utf8: "# podman\ncredential-helpers = [\"kist\", \"containers-auth.json\"]\n"),
      isCut: false)
    let said = await setUp("docker", on: machine)
    #expect(said.hasSuffix(expected), "\(said)")
    #expect(!said.contains("credsStore") && !said.contains("credential-helpers"))
    machine.homeFiles[podman] = .text(Secret(utf8: "# podman\n"), isCut: false)
    let other = await setUp("docker", on: machine)
    #expect(
      other.contains("in ~/.config/containers/registries.conf.d/kist.conf, above its first ["))
    machine.homeFiles[podman] = nil
    let half = await setUp("docker", on: machine)
    #expect(half.hasPrefix("credential-helpers = "), "\(half)")
    #expect(!half.contains("credsStore") && !half.contains("podman already"))
  }

  @Test(arguments: [#"{"credsStore": "pass"}"#, #"{"auths": {}}"#, "{", ""])
  func `prints the line for a docker that does not ask kist`(text: String) async {
    var machine = Machine.healthy
    machine.install("/usr/bin/docker-credential-kist")
    machine.install("/home/u/.docker/config.json")
    machine.homeFiles["/home/u/.docker/config.json"] = .text(Secret(utf8: text), isCut: false)
    let said = await setUp("docker", on: machine)
    #expect(said.hasPrefix("\"credsStore\": \"kist\",\n"), "\(said)")
    #expect(!said.contains("already"))
  }

  @Test func `does not make pip ask a keyring that is missing`() async {
    let recorder = Recorder()
    let terminal = recorder.terminal(input: Secret(utf8: ""), typed: [], isTerminal: false)
    let status = await Kist.status(of: ["setup", "keyring", "--apply"], on: terminal) { command in
      try (command as? Setup)?.perform(terminal, in: Machine.healthy.host) { _ in
        .internal("a test does not")
      }
    }
    #expect(status == 7)
    #expect(recorder.error.contains("pip would find no keyring"))
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
