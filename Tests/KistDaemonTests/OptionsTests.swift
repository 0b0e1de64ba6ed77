import ArgumentParser
import KistCore
import Logging
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `The options of kistd` {
  struct Case: Sendable, CustomTestStringConvertible {
    var arguments: [String] = []
    var environment: [String: String] = [:]
    var change: @Sendable (inout Options) -> Void = { _ in }
    var testDescription: String { "\(arguments) \(environment)" }
  }

  private static let home = ["HOME": "/home/u"]
  private static let standard = Options(
    socket: nil, storage: nil, dataDirectory: "/home/u/.local/share/kist",
    keySource: .file(path: "/home/u/.local/state/kist/key"),
    namesKeyFile: false, allowsWeakPassphrase: false,
    pinFile: "/home/u/.local/state/kist/storage",
    usualPinFile: "/home/u/.local/state/kist/storage",
    keyringLock: "/home/u/.local/state/kist/keyring.lock",
    progressDirectory: "/home/u/.local/state/kist", acceptsRollback: false,
    machineKey: "/home/u/.local/state/kist/machine.key",
    auditFile: "/home/u/.local/state/kist/audit.jsonl", auditSize: 16 << 20,
    maximumConnections: 128,
    deadline: .seconds(30),
    logLevel: .info, command: [])

  private static func options(
    _ arguments: [String], _ environment: [String: String]
  ) throws -> Options {
    try Kistd.parse(arguments).options(
      environment: { environment[$0] },
      isFile: { $0.hasPrefix("/run/key/") == $0.hasSuffix(".key") && $0.hasPrefix("/run/") })
  }

  @Test(arguments: [
    Case(),
    Case(arguments: ["--socket", "/s"]) { $0.socket = "/s" },
    Case(environment: ["KISTD_SOCKET": "/s"]) { $0.socket = "/s" },
    Case(arguments: ["--socket", "/a"], environment: ["KISTD_SOCKET": "/b"]) { $0.socket = "/a" },
    Case(arguments: ["--accept-rollback"]) { $0.acceptsRollback = true },
    Case(environment: ["KISTD_ACCEPT_ROLLBACK": "1"]),
    Case(environment: ["KISTD_STORAGE": "shared"]) { $0.storage = .shared },
    Case(arguments: ["--machine-key", "/k", "--cluster", "/c"]) {
      $0.machineKey = "/k"
      $0.clusterSocket = "/c"
    },
    Case(environment: ["KISTD_MACHINE_KEY": "/k", "KISTD_CLUSTER": "/c"]) {
      $0.machineKey = "/k"
      $0.clusterSocket = "/c"
    },
    Case(arguments: ["--storage", "auto"]),
    Case(environment: ["KISTD_STORAGE": "encrypted-file"]) { $0.storage = .encryptedFile },
    Case(environment: ["KISTD_STORAGE": "libsecret"]) { $0.storage = .libsecret },
    Case(arguments: ["--data", "/d"]) {
      $0.dataDirectory = "/d"
      $0.pinFile = "/d/storage"
      $0.auditFile = "/d/audit.jsonl"
      $0.machineKey = "/d/machine.key"
    },
    Case(environment: ["KISTD_DATA": "/d"]) {
      $0.dataDirectory = "/d"
      $0.pinFile = "/d/storage"
      $0.auditFile = "/d/audit.jsonl"
      $0.machineKey = "/d/machine.key"
    },
    Case(environment: ["KISTD_DATA": ""]),
    Case(environment: ["XDG_DATA_HOME": "/x"]) { $0.dataDirectory = "/x/kist" },
    Case(environment: ["XDG_DATA_HOME": "relative"]),
    Case(environment: ["HOME": "/", "XDG_STATE_HOME": "/x/"]) {
      $0.dataDirectory = "/.local/share/kist"
      $0.keySource = .file(path: "/x/kist/key")
      $0.pinFile = "/x/kist/storage"
      $0.usualPinFile = "/x/kist/storage"
      $0.auditFile = "/x/kist/audit.jsonl"
      $0.machineKey = "/x/kist/machine.key"
      $0.progressDirectory = "/x/kist"
      $0.keyringLock = "/x/kist/keyring.lock"
    },
    Case(arguments: ["--key-file", "/k"]) {
      $0.keySource = .file(path: "/k")
      $0.namesKeyFile = true
    },
    Case(environment: ["KISTD_KEY_FILE": "/k"]) {
      $0.keySource = .file(path: "/k")
      $0.namesKeyFile = true
    },
    Case(environment: ["XDG_STATE_HOME": "/x"]) {
      $0.keySource = .file(path: "/x/kist/key")
      $0.pinFile = "/x/kist/storage"
      $0.usualPinFile = "/x/kist/storage"
      $0.auditFile = "/x/kist/audit.jsonl"
      $0.machineKey = "/x/kist/machine.key"
      $0.progressDirectory = "/x/kist"
      $0.keyringLock = "/x/kist/keyring.lock"
    },
    Case(arguments: ["--passphrase-fd", "3"], environment: ["KISTD_KEY_FILE": "/k"]) {
      $0.keySource = .passphrase(descriptor: 3)
      $0.storage = .encryptedFile
    },
    Case(environment: ["KISTD_PASSPHRASE_FD": "0", "KISTD_STORAGE": "auto"]) {
      $0.keySource = .passphrase(descriptor: 0)
    },
    Case(
      arguments: ["--passphrase-fd", "3"],
      environment: ["CREDENTIALS_DIRECTORY": "/run/key", "KISTD_KEY_FILE": "/k"]
    ) { $0.keySource = .file(path: "/run/key/kist.key") },
    Case(environment: ["CREDENTIALS_DIRECTORY": "/run/passphrase", "KISTD_KEY_FILE": "/k"]) {
      $0.keySource = .passphraseFile(path: "/run/passphrase/kist.passphrase")
      $0.machineKey = "/run/passphrase/kist.machine-key"
      $0.storage = .encryptedFile
    },
    Case(environment: ["CREDENTIALS_DIRECTORY": "/elsewhere", "KISTD_KEY_FILE": "/k"]) {

      $0.keySource = .file(path: "/k")
      $0.namesKeyFile = true

    },
    Case(arguments: ["--weak"]) { $0.allowsWeakPassphrase = true },
    Case(environment: ["KISTD_WEAK": "1"]) { $0.allowsWeakPassphrase = true },
    Case(environment: ["KISTD_WEAK": "0"]),
    Case(arguments: ["--audit", "off"]) { $0.auditSize = 0 },
    Case(arguments: ["--audit", "64KiB"]) { $0.auditSize = 64 << 10 },
    Case(environment: ["KISTD_AUDIT": "2GiB"]) { $0.auditSize = 2 << 30 },
    Case(arguments: ["--lock-after", "15min"]) { $0.lockAfter = .seconds(900) },
    Case(environment: ["KISTD_LOCK_AFTER": "1h"]) { $0.lockAfter = .seconds(3600) },
    Case(arguments: ["--idle-exit", "10min"]) { $0.idleExit = .seconds(600) },
    Case(environment: ["KISTD_IDLE_EXIT": "1h"]) { $0.idleExit = .seconds(3600) },
    Case(arguments: ["--max-connections", "1"]) { $0.maximumConnections = 1 },
    Case(environment: ["KISTD_MAX_CONNECTIONS": "9"]) { $0.maximumConnections = 9 },
    Case(arguments: ["--deadline", "5s"]) { $0.deadline = .seconds(5) },
    Case(arguments: ["--deadline", "500ms"]) { $0.deadline = .milliseconds(500) },
    Case(arguments: ["--deadline", "90s"]) { $0.deadline = .seconds(90) },
    Case(environment: ["KISTD_DEADLINE": "2min"]) { $0.deadline = .seconds(120) },
    Case(arguments: ["--lock-after", "2w"]) { $0.lockAfter = .seconds(14 * 86_400) },
    Case(environment: ["KISTD_IDLE_EXIT": "7d"]) { $0.idleExit = .seconds(7 * 86_400) },
    Case(arguments: ["--log-level", "error"]) { $0.logLevel = .error },
    Case(environment: ["KISTD_LOG_LEVEL": "trace"]) { $0.logLevel = .trace },
    Case(arguments: ["--detach"]) { $0.logFile = "/home/u/.local/state/kist/kistd.log" },
    Case(arguments: ["--detach", "--data", "/d"]) {
      $0.dataDirectory = "/d"
      $0.pinFile = "/d/storage"
      $0.auditFile = "/d/audit.jsonl"
      $0.machineKey = "/d/machine.key"
      $0.logFile = "/d/kistd.log"
    },
    Case(environment: ["KISTD_DETACH": "1"]),
    Case(arguments: ["--", "sh", "-c", "--socket"]) {
      $0.command = ["sh", "-c", "--socket"]
      $0.logLevel = .warning
    },
  ])
  func `a flag or its variable sets one thing`(_ example: Case) throws {
    var expected = Self.standard
    example.change(&expected)
    let environment = Self.home.merging(example.environment) { $1 }
    #expect(try Self.options(example.arguments, environment) == expected)
  }

  @Test(arguments: [[:], ["KISTD_DATA": "/d"]])
  func `without a home directory, the hint is to set it`(environment: [String: String]) throws {
    let error = try Self.error([], environment)
    #expect(error.message == "HOME is not set")
    #expect(error.hint?.hasPrefix("set HOME to your home directory; or start kistd with") == true)
  }

  @Test(arguments: [
    Case(arguments: ["--socket", ""]),
    Case(arguments: ["--storage", "keyring"]), Case(environment: ["KISTD_STORAGE": "keychain"]),
    Case(arguments: ["--passphrase-fd", "three"]),
    Case(arguments: ["--passphrase-fd", "2147483648"]),
    Case(environment: ["KISTD_PASSPHRASE_FD": "3.5"]),
    Case(arguments: ["--max-connections", "0"]),
    Case(environment: ["KISTD_MAX_CONNECTIONS": "many"]),
    Case(arguments: ["--deadline", "0"]), Case(arguments: ["--deadline", "25h"]),
    Case(arguments: ["--idle-exit", "366d"]), Case(arguments: ["--lock-after", "5m"]),
    Case(arguments: ["--deadline", "86401"]), Case(environment: ["KISTD_DEADLINE": "s"]),
    Case(arguments: ["--log-level", "loud"]), Case(environment: ["HOME": ""]),
    Case(environment: ["KISTD_WEAK": "yes"]), Case(arguments: ["--audit", "on"]),
    Case(arguments: ["--audit", "63KiB"]),
    Case(arguments: ["--audit", "0"]), Case(environment: ["KISTD_AUDIT": "17GiB"]),
    Case(arguments: ["--audit", "9223372036854775807KiB"]),
    Case(arguments: ["--detach", "--", "true"]),
    Case(arguments: ["--nonsense"]), Case(arguments: ["--deadline", "5"]),
  ])
  func `a bad value is an error of status 64 that names where it came from`(
    _ example: Case
  ) throws {
    let environment = Self.home.merging(example.environment) { $1 }
    let error = try Self.error(example.arguments, environment)
    #expect(error.code.exitStatus == 64)
    let source = example.arguments.first ?? example.environment.keys.first ?? ""
    #expect(error.message.contains(source))
    #expect(error.hint != nil)
  }

  @Test(arguments: [
    (["--data", "d"], [:], "--data"), (["--key-file", "k"], [:], "--key-file"),
    (["--socket", "s"], [:], "--socket"), ([], ["KISTD_DATA": "d"], "KISTD_DATA"),
    ([], ["KISTD_KEY_FILE": "k"], "KISTD_KEY_FILE"), ([], ["HOME": "h"], "HOME"),
  ])
  func `a relative path in the background is an error that names its option or variable`(
    arguments: [String], environment: [String: String], source: String
  ) throws {
    let error = try Self.error(["--detach"] + arguments, Self.home.merging(environment) { $1 })
    #expect(error.code.exitStatus == 64)
    #expect(error.message.contains(source) && !error.message.contains("--detach"))
    #expect(error.hint?.contains("$PWD") == true)
  }

  @Test(arguments: [
    Case(arguments: ["hunter2"]), Case(arguments: ["true", "hunter2"]),
    Case(arguments: ["--deadline", "hunter2"]), Case(arguments: ["--storage=hunter2"]),
    Case(arguments: ["--socket", "/s", "hunter2"]), Case(arguments: ["--nonsense=hunter2"]),
    Case(environment: ["KISTD_LOG_LEVEL": "hunter2"]),
  ])
  func `an error repeats nothing but the names of options`(_ example: Case) throws {
    let environment = Self.home.merging(example.environment) { $1 }
    let error = try Self.error(example.arguments, environment)
    #expect(!"\(error.message) \(error.hint ?? "")".contains("hunter2"))
  }

  @Test(arguments: [
    (["--data", "/d", "fsck"], "write `kistd fsck` first, then its options"),
    (["--data", "/d", "fsck", "--salvage", "/e"], "write `kistd fsck` first, then its options"),
    (["--json", "fsck"], "write `kistd fsck` first, then its options"),
    (["--data", "/d", "kist", "list"], "write `kistd … -- kist …`"),
    (["kist", "run", "--env", "A=kist://a/b"], "write `kistd … -- kist …`"),
  ])
  func `a command at a wrong place has a hint`(arguments: [String], hint: String) throws {
    let thrown = try #require(throws: StorageError.self) { try parse(Kistd.self, arguments) }
    let message = hint.contains("fsck") ? "the command fsck must come" : "`--` is missing"
    #expect(thrown.message.hasPrefix(message) && thrown.hint == hint)
  }

  @Test func `a program after -- is not taken for a command of kistd`() throws {
    let arguments = ["--nonsense", "--", "fsck"]
    let thrown = try #require(throws: StorageError.self) { try parse(Kistd.self, arguments) }
    #expect(thrown.hint?.hasPrefix("`kistd --help` shows the options; ") == true)
  }

  @Test(arguments: [["true"], ["--data", "/d", "kist", "run", "--env", "A=b"]])
  func `a command without its dashes has a hint with them`(arguments: [String]) throws {
    let error = try Self.error(arguments, Self.home)
    #expect(error.hint?.contains("kistd -- COMMAND") == true)
  }

  @Test(arguments: [
    ["--to", "encrypted-file", "--storage", "libsecret"], ["--to", "keychain"], [],
    ["--to", "libsecret", "--", "foo"], ["--to", "libsecret", "foo"],
    ["--from", "libsecret", "--to", "libsecret"], ["--from", "keychain", "--to", "libsecret"],
    ["--to", "shared"], ["--from", "", "--to", "libsecret"],
  ])
  func `an error in a migration's options names the command that shows them`(
    arguments: [String]
  ) throws {
    let thrown = try #require(
      throws: (any Error).self,
      performing: {
        try MigrateCommand.parse(arguments).options(environment: { Self.home[$0] })
      })
    let error = usageError(thrown, of: MigrateCommand.self)
    #expect(error.code.exitStatus == 64)
    #expect(error.hint == "`kistd migrate --help` shows the options")
  }

  @Test(arguments: [
    (["--to", "libsecret"], StorageKind.encryptedFile), (["--to", "encrypted-file"], .libsecret),
    (["--from", "encrypted-file", "--to", "libsecret"], .encryptedFile),
    (["--from", "shared", "--to", "libsecret"], .shared),
    (["--from", "encrypted-file", "--to", "shared"], .encryptedFile),
  ])
  func `a migration without --from is between keyring and encrypted file`(
    arguments: [String], source: StorageKind
  ) throws {
    let options = try MigrateCommand.parse(arguments).options { Self.home[$0] }
    #expect(options.source == source)
  }

  @Test func `a deadline without a unit has a hint with one`() throws {
    let error = try Self.error(["--deadline", "5"], Self.home)
    #expect(error.message == "--deadline has no unit")
    #expect(error.hint == "write 5s for seconds")
  }

  @Test func `the help names every level of the log`() {
    let help = Kistd.helpMessage(columns: 200)
    for level in Logger.Level.allCases { #expect(help.contains(level.rawValue), "\(level)") }
  }

  /// The error of a command line, as it is reported.
  private static func error(
    _ arguments: [String], _ environment: [String: String]
  ) throws -> StorageError {
    usageError(try #require(throws: (any Error).self) { try options(arguments, environment) })
  }
}
