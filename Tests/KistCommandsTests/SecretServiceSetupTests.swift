import KistCore
import KistTesting
import KistWire
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `kist setup secret-service` {
  private static let data = "/home/u/.local/share/"
  private static let busNames = [
    "org.freedesktop.secrets", "io.kist.SecretService", "org.freedesktop.impl.portal.desktop.kist",
  ]
  private static let paths =
    busNames.map { "\(data)dbus-1/services/\($0).service" }
    + ["\(data)xdg-desktop-portal/portals/kist.portal"]

  private static var machine: Machine {
    var machine = Machine.healthy
    machine.install("/usr/bin/kist-secret-service")
    machine.isEnabled = "static"
    return machine
  }

  private static func file(_ name: String, _ program: String = "/usr/bin") -> String {
    """
    # Written by `kist setup secret-service --apply`; `kist setup secret-service --undo` removes it.
    [D-BUS Service]
    Name=\(name)
    Exec=\(program)/kist-secret-service
    SystemdService=kist-secret-service.service

    """
  }

  private static let portal = """
    # Written by `kist setup secret-service --apply`; `kist setup secret-service --undo` removes it.
    [portal]
    DBusName=org.freedesktop.impl.portal.desktop.kist
    Interfaces=org.freedesktop.impl.portal.Secret
    UseIn=kist

    """

  @Test func `shows all files, with the unit of systemd if there is one`() async {
    var machine = Self.machine
    let shown = await setUp(on: machine)
    #expect(shown.output == Self.busNames.map { Self.file($0) }.joined() + Self.portal)
    #expect(shown.error == Self.paths.map { "in \($0):\n" }.joined())
    #expect(shown.status == 0)
    for unit in [nil, "not-found", "masked"] {
      machine.isEnabled = unit
      #expect(await !setUp(on: machine).output.contains("SystemdService"))
    }
  }

  @Test func `names the program beside kist, wherever that is`() async {
    var machine = Self.machine
    machine.program = "/opt/kist/bin/kist"
    machine.install("/opt/kist/bin/kist-secret-service")
    #expect(await setUp(on: machine).output.contains("Exec=/opt/kist/bin/kist-secret-service\n"))
  }

  @Test func `is refused without the program, or at a path that D-Bus would misread`() async {
    let missing = await setUp("--apply", on: .healthy)
    #expect(missing.error.contains("there is no kist-secret-service next to kist or on PATH"))
    #expect(missing.status == 7)
    var machine = Self.machine
    machine.program = "/opt/my kist/kist"
    machine.install("/opt/my kist/kist-secret-service")
    let odd = await setUp("--apply", on: machine)
    #expect(odd.error.contains("that D-Bus would read as something else"))
    #expect(odd.status == 64)
  }

  @Test(arguments: [
    (
      KeyringProvider(owner: .other(.init(pid: 9, program: "kwalletd5"))),
      "kwalletd5 (process 9) provides a keyring, and kist cannot read how many items it has"
    ),
    (
      .init(owner: .other(.init(pid: 9, program: "a\u{1B}", items: 1, lockedItems: 0))),
      "a\\u{1b} (process 9) provides a keyring with 1 item, which programs would no longer find"
    ),
    (
      .init(owner: .other(.init(pid: 9, items: 0, lockedItems: 2))),
      "another program (process 9) provides a keyring with 2 items, which programs"
    ),
  ])
  func `is refused if another keyring has items, and says how to import them`(
    provider: KeyringProvider, reason: String
  ) async {
    var machine = Self.machine
    machine.diagnosis.provider = provider
    for (options, status) in [([], 0), (["--apply"], 3)] as [([String], CInt)] {
      let end = await setUp(options, on: machine)
      #expect(end.error.contains(reason), "\(end.error)")
      #expect(end.error.contains("hint: import what kist can: `kist import keyring`"))
      #expect(end.status == status)
    }
    #expect(await !setUp("--hide-keyring", on: machine).error.contains(reason))
  }

  @Test(
    arguments: [
      (.open(hasCredentials: true), true), (.locked, true), (.open(hasCredentials: false), false),
      (.unusable(StorageError(.unavailable, "no bus")), true),
    ] as [(StorageProbe, Bool)])
  func `is refused if kistd itself keeps credentials in a keyring, also with --hide-keyring`(
    probe: StorageProbe, isRefused: Bool
  ) async {
    var machine = Self.machine
    machine.diagnosis.provider = .init(owner: .other(.init(pid: 9, items: 1, lockedItems: 0)))
    machine.diagnosis.choice = .success(.init(storage: "libsecret", reason: "the keyring"))
    machine.diagnosis.external[0].probe = probe
    // Writing would need a real home, so the other case only shows the files.
    let end = await setUp(
      isRefused ? ["--apply", "--hide-keyring"] : ["--hide-keyring"], on: machine)
    #expect(end.status == (isRefused ? 3 : 0))
    #expect(
      end.error.contains("kist would take the place of the keyring, where kistd keeps your")
        == isRefused)
    #expect(end.output.isEmpty == isRefused)
    #expect(end.error.contains("run `kistd migrate --to encrypted-file`") == isRefused)
  }

  @Test(
    arguments: [
      (true, "libsecret", "where kistd keeps your credentials"),
      (true, nil, "kist would take the place of the keyring, and cannot find out whether"),
      (true, "encrypted-file", nil), (false, "libsecret", nil),
    ] as [(Bool, String?, String?)])
  func `asks a running kistd for its storage if a keyring has credentials of kist`(
    hasCredentials: Bool, served: String?, refusal: String?
  ) async throws {
    var machine = Self.machine
    machine.diagnosis.provider = .init(owner: .other(.init(pid: 9, items: 1, lockedItems: 0)))
    machine.diagnosis.choice = .failure(StorageError(.unavailable, "another kistd serves it"))
    machine.diagnosis.external[0].probe = .open(hasCredentials: hasCredentials)
    var status = try machine.status.get()
    status.storage = served ?? ""
    machine.status = served == nil ? .failure(.locked("no answer")) : .success(status)
    // Writing would need a real home, so the other cases only show the files.
    let end = await setUp(
      refusal == nil ? ["--hide-keyring"] : ["--apply", "--hide-keyring"], on: machine)
    #expect(end.status == (refusal == nil ? 0 : 3))
    #expect(end.error.contains("kist would take the place") == (refusal != nil))
    #expect(refusal.map(end.error.contains) ?? true)
  }

  @Test(arguments: ["keyrings/login.keyring", "kwalletd/kdewallet.kwl"])
  func `is refused if a keyring that does not run has a file`(name: String) async {
    var machine = Self.machine
    machine.install("/home/u/.local/share/\(name)")
    let end = await setUp("--apply", on: machine)
    #expect(end.error.contains("there is a keyring in /home/u/.local/share/\(name), which"))
    #expect(end.status == 3)
  }

  @Test(
    arguments: [
      (HomeFile.text(Secret(utf8: "[D-BUS Service]\nExec=/bin/false\n"), isCut: false), 3),
      (.text(Secret(utf8: file("org.freedesktop.secrets") + "User=x\n"), isCut: false), 3),
      (.refused("is not a regular file"), 6),
    ] as [(HomeFile, CInt)])
  func `changes and removes no file that kist did not write`(
    file: HomeFile, status: CInt
  ) async {
    for path in Self.paths {
      for options in [["--apply"], ["--undo"]] {
        var machine = Self.machine
        machine.homeFiles[path] = file
        let end = await setUp(options, on: machine)
        #expect(end.error.contains(path))
        #expect(end.error.contains("not change"))
        #expect(end.status == status)
      }
    }
  }

  @Test func `has nothing to do where it is done, or undone, already`() async {
    var machine = Self.machine
    #expect(
      await setUp("--undo", on: machine).error.hasSuffix("kist: there is nothing to undo\n"))
    machine.setUpSecretService()
    #expect(
      await setUp("--apply", on: machine).error.hasSuffix(
        "kist: the session bus starts kist-secret-service already\n"))
    machine.install("/home/u/.local/share/keyrings/login.keyring")
    #expect(await setUp("--apply", on: machine).status == 0)
    machine.isEnabled = nil
    machine.setUpSecretService(hasUnit: false)
    #expect(
      await setUp("--apply", on: machine).error.hasSuffix(
        "hint: run `kistd --detach`, now and after each start of the machine\n"))
  }

  @Test func `is the only setup that can be undone`() async {
    let end = await run(["setup", "git", "--undo"], on: .healthy)
    #expect(end.error.contains("kist undoes only the setup of secret-service"))
    #expect(end.status == 64)
  }

  private func setUp(
    _ options: String..., on machine: Machine
  ) async -> (output: String, error: String, status: CInt) {
    await setUp(options, on: machine)
  }

  private func setUp(
    _ options: [String], on machine: Machine
  ) async -> (output: String, error: String, status: CInt) {
    await run(["setup", "secret-service"] + options, on: machine)
  }

  private func run(
    _ arguments: [String], on machine: Machine
  ) async -> (output: String, error: String, status: CInt) {
    let recorder = Recorder()
    let terminal = recorder.terminal(input: Secret(utf8: ""), typed: [], isTerminal: false)
    let status = await Kist.status(of: arguments, on: terminal) { command in
      try (command as? Setup)?.perform(terminal, in: machine.host) { _ in
        .internal("a test does not")
      }
    }
    return (recorder.output, recorder.error, status)
  }
}
