import KistCore
import KistWire
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `The finding about the Secret Service` {
  @Test(arguments: [
    (
      KeyringProvider(owner: .kist(pid: 9), startable: .kist),
      "get kist's credentials, from kist-secret-service (process 9)"
    ),
    (.init(startable: .kist), "get kist's credentials; the session bus starts it"),
    (.init(startable: .other), "get another keyring, which the session bus starts"),
    (
      .init(owner: .other(.init(pid: 9, program: "kwalletd5"))),
      "get the keyring of kwalletd5 (process 9)"
    ),
  ])
  func `names the keyring that programs get`(provider: KeyringProvider, clause: String) {
    var machine = Machine.healthy
    if provider.startable == .kist { machine.setUpSecretService() }
    #expect(
      machine.host.secretServiceFindings(provider) == [
        .ok(
          "secrets",
          "programs that use a keyring, such as gh, VS Code and Python's keyring, " + clause)
      ])
  }

  @Test func `names the command to run if there is none, and only the program is installed`() {
    var machine = Machine.healthy
    machine.install("/usr/bin/kist-secret-service")
    let hint = machine.host.secretServiceFindings(KeyringProvider()).first?.hint
    #expect(hint == "to give them kist's credentials: `kist setup secret-service --apply`")
  }

  @Test(arguments: ["libsecret", "encrypted-file"], [true, false])
  func `does not end a keyring that has kist's own credentials, nor move any into one that ends`(
    storage: String, isRunning: Bool
  ) async {
    var machine = Machine.healthy
    Fault.nameTaken.befall(&machine)
    if isRunning {
      machine.setStatus { $0.storage = storage }
    } else {
      machine.status = .failure(.locked("x"))
      machine.isLeftToStart = true
      machine.diagnosis.choice = .success(.init(storage: storage, reason: "chosen before"))
    }
    machine.diagnosis.external = [
      .init(storage: "libsecret", label: "keyring", probe: .open(hasCredentials: true))
    ]
    let output = await examine(machine).output
    #expect(output.contains("kill 9") == (storage == "encrypted-file"), "\(output)")
    #expect(
      output.contains("kist setup secret-service --undo") == (storage == "libsecret"), "\(output)")
    #expect(!output.contains("kistd migrate"), "\(output)")
  }

  @Test func `is absent without a session bus`() {
    #expect(Machine.healthy.host.secretServiceFindings(nil).isEmpty)
  }

  @Test(arguments: [
    ("unix:path=/tmp/dbus-a,guid=0a", true), ("unix:path=/run/user/7/bus,guid=0a", false),
    (nil, false),
  ])
  func `comes with one about the keyring on the bus that kistd uses`(
    own: String?, isOther: Bool
  ) async {
    var machine = Machine.healthy
    machine.unit = ["LoadState=loaded", "Listen=/run/user/7/kist/kist.sock (Stream)"]
    machine.busOfUnits = "unix:path=/run/user/7/bus"
    machine.variables["DBUS_SESSION_BUS_ADDRESS"] = own
    machine.diagnosisOfUnits = machine.diagnosis
    machine.diagnosis.external[0].probe = .open(hasCredentials: false)
    machine.diagnosis.provider = KeyringProvider(
      owner: .other(.init(pid: 9, program: "gnome-keyring-d", items: 0, lockedItems: 0)))
    let (output, _) = await examine(machine)
    #expect(output.contains("note\tbus\tthis shell has a session bus of its own") == isOther)
    #expect(output.contains("kistd migrate --to libsecret") != isOther)
    #expect(output.contains("get the keyring of gnome-keyring-d (process 9)"))
  }
}
