import KistCore
import KistTesting
import KistWire

@testable import KistCommands

/// A machine that is not there, for `kist doctor` to look at.
struct Machine: Sendable {
  var hello: Result<Hello, StorageError>
  var status: Result<StorageStatus, StorageError>
  var diagnosis: StorageDiagnosis
  var files: [String: Host.File]
  var program = "/usr/bin/kist"
  var path = "/usr/local/bin:/usr/bin:/home/u/.local/bin"
  var freeBytes: UInt64 = 1 << 30
  var isEnabled: String? = "enabled"
  var hasFailedSocket = false
  /// Whether the socket for units is active.
  var servesUnits = true
  /// The properties of kistd's socket unit.
  var unit: [String] = []
  /// The session bus of the units, and the storage that kistd would open there.
  var busOfUnits: String?
  var diagnosisOfUnits: StorageDiagnosis?
  var whenUnitStarts: @Sendable () -> Void = {}
  var isLeftToStart = false
  var unusedSocket: String?
  var session: String?
  var variables: [String: String] = [:]
  var gitHelpers: [String] = []
  /// Other lines of git's configuration.
  var gitLines: [String] = []
  var homeFiles: [String: HomeFile] = [:]
  var whyLocked = StorageError.locked("the storage is locked")

  /// One on which nothing is wrong.
  static var healthy: Machine {
    let own = ["/run/user/7/kist", "/home/u/.local/share/kist", "/home/u/.local/state/kist"]
    let roots = [
      "/home/u", "/run/systemd/system", "/run/user/7/systemd/private", "/var/lib/systemd/linger/u",
    ]
    let programs = ["/usr/bin/kist", "/usr/bin/kistd", "/usr/bin/systemctl"]
    var files: [String: Host.File] = [:]
    for (number, path) in (own + roots + programs).enumerated() {
      files[path] = Host.File(
        owner: own.contains(path) ? 7 : 0, mode: own.contains(path) ? 0o700 : 0o711,
        identity: [1, UInt64(number)])
    }
    return Machine(
      hello: .success(Hello(version: KistVersion.current, durability: .disk)),
      status: .success(
        StorageStatus(
          storage: "encrypted-file", reason: "there is no keyring", isLocked: false,
          reopensAtRestart: true, durability: .disk, keyProtection: "a key file", integrity: .ok,
          count: 3)),
      diagnosis: StorageDiagnosis(
        choice: .success(
          .init(
            storage: "encrypted-file", reason: "the encrypted file: there is no session bus")),
        external: [
          .init(
            storage: "libsecret", label: "keyring",
            probe: .unusable(StorageError(.unavailable, "there is no session bus", hint: "log in")))
        ]),
      files: files)
  }

  var checkup: Checkup {
    var kistd = Endpoints(
      .unimplemented, .unimplemented, hello: { () throws(StorageError) in try hello.get() })
    kistd.access.status = { () throws(StorageError) in try status.get() }
    kistd.credentials.find = { _ throws(StorageError) in throw whyLocked }
    return Checkup(
      socket: "/run/user/7/kist/kist.sock", kistd: kistd, host: host, isLeftToStart: isLeftToStart,
      unusedSocket: unusedSocket)
  }

  var host: Host {
    Host(
      uid: 7, user: "u", program: program,
      environment: { name in
        switch name {
        case "HOME": "/home/u"
        case "PATH": path
        case "XDG_SESSION_TYPE": session
        default: variables[name]
        }
      },
      file: { files[$0] },
      names: { folder in
        files.keys.filter { $0.hasPrefix(folder + "/") }
          .map { String($0.dropFirst(folder.count + 1)) }
      },
      freeBytes: { _ in freeBytes },
      homeFile: { path, _ in homeFiles[path] ?? .missing },
      lines: { words in
        let onAnotherBus = words.first == "env"
        switch words.dropFirst(onAnotherBus ? 3 : 1).prefix(2) {
        case ["probe", "--provider"]: return diagnosis.provider.map { [$0.json().text] } ?? []
        case ["probe", "--json"]:
          return [(onAnotherBus ? diagnosisOfUnits : diagnosis)?.json().text].compactMap(\.self)
        case ["status", "--json"]: return (try? status.get()).map { [$0.json().text] } ?? []
        case ["--user", "is-enabled"]: return isEnabled.map { [$0] } ?? []
        case ["--user", "is-active"]:
          return [servesUnits || words.last == "kistd.socket" ? "active" : "inactive"]
        case ["--user", "is-failed"]: return [hasFailedSocket ? "failed" : "active"]
        case ["--user", "show"]: return unit
        case ["--user", "show-environment"]:
          return busOfUnits.map { ["LANG=C", "DBUS_SESSION_BUS_ADDRESS=\($0)"] } ?? []
        case ["--user", "start"]: whenUnitStarts()
        case let words where words.first == "config":
          return gitHelpers.map { "global\tfile:/home/u/.gitconfig\tcredential.helper \($0)" }
            + gitLines
        default: break
        }
        return []
      })
  }

  /// Puts a program there that anybody may run.
  mutating func install(_ path: String) {
    files[path] = Host.File(owner: 0, mode: 0o755, identity: [3, UInt64(files.count)])
  }

  /// Puts the program of the Secret Service there, and the files that start it.
  mutating func setUpSecretService(
    program: String = "/usr/bin/kist-secret-service", hasUnit: Bool = true
  ) {
    install("/usr/bin/kist-secret-service")
    for name in ActivationFiles.names {
      let files = ActivationFiles(
        data: "/home/u/.local/share", program: program, hasUnit: hasUnit)
      homeFiles[files.path(of: name)] = .text(Secret(utf8: files.text(of: name)), isCut: false)
    }
  }

  mutating func setStatus(_ change: (inout StorageStatus) -> Void) {
    guard var status = try? status.get() else { return }
    change(&status)
    self.status = .success(status)
  }
}

/// What can be wrong with it.
enum Fault: CaseIterable {
  case locked, keyless, damaged, damagedItem, replacedFile, swappable, closesAtRestart,
    refusedAtRestart,
    keyGone, notOpened,
    olderDaemon
  case keyringBeside, lockedKeyringBeside
  case noKeyring, lockedKeyring, plainSession, oldCopy, incompleteCopy
  case noDaemonProgram, readableProgram, readableOwnProgram, otherKist, otherHelper, noHelper,
    noDockerHelper,
    openDirectory, othersDirectory
  case formerKey, fullDisk, nearlyFullDisk, disabled, masked, failed, unitsCutOff, notInstalled,
    noManager, noLinger, atDesk
  case keyInBackup, plaintext, partlyTakenPlaintext, unreadPlaintext
  case noSecretService, secretServiceNotStarted, secretServiceOutdated, nameTaken

  func befall(_ machine: inout Machine) {
    let other = Host.File(owner: 0, mode: 0o755, identity: [2, 2])
    switch self {
    case .locked: machine.setStatus { $0.isLocked = true }
    case .keyless:
      machine.setStatus { status in
        (status.isLocked, status.unlocksWith, status.reopensAtRestart) = (true, .keyFile, false)
      }
      machine.whyLocked = .locked("the key file is missing", hint: "put it back")
    case .damaged: machine.setStatus { $0.integrity = .failed }
    case .damagedItem:
      machine.setStatus { ($0.storage, $0.integrity) = ("libsecret", nil) }
      machine.whyLocked = StorageError(.corrupt, "item 2 is damaged", hint: "delete it")
    case .replacedFile:
      machine.setStatus {
        $0.problem = StorageError(
          .unavailable, "the file was replaced", hint: "export the credentials")
      }
    case .swappable: machine.setStatus { $0.keysInRAM = false }
    case .keyInBackup:
      machine.setStatus {
        ($0.unlocksWith, $0.keyProtection) = (.keyFile, "a key file, /home/u/.local/state/kist/key")
      }
      for path in ["share/kist/credentials.db", "state/kist/key"] {
        machine.files["/home/u/.local/" + path] = .init(owner: 7, mode: 0o600, identity: [4, 1])
      }
    case .plaintext:
      machine.homeFiles["/home/u/.netrc"] = .text(
        Secret(utf8: "machine git.example login alice password hunter2\n"), isCut: false)
    case .partlyTakenPlaintext:
      machine.homeFiles["/home/u/.netrc"] = .text(
        Secret(
          utf8: "machine git.example login alice password hunter2\ndefault login a password b\n"),
        isCut: false)
    case .unreadPlaintext:
      machine.homeFiles["/home/u/.netrc"] = .refused("is not a regular file")
    case .keyGone:
      machine.setStatus { ($0.unlocksWith, $0.reopensAtRestart) = (.keyFile, false) }
    case .notOpened:
      machine.status = .failure(
        StorageError(.unavailable, "there is no session bus", hint: "log in"))
    case .refusedAtRestart:
      machine.diagnosis.choice = .failure(
        StorageError(.denied, "other users may write to the directory D", hint: "close it"))
    case .closesAtRestart: machine.setStatus { $0.reopensAtRestart = false }
    case .olderDaemon:
      machine.hello = .success(Hello(version: "0.0.1", durability: .disk))
    case .lockedKeyringBeside: machine.diagnosis.external[0].probe = .locked
    case .keyringBeside: machine.diagnosis.external[0].probe = .open(hasCredentials: false)
    case .noKeyring: machine.setStatus { $0.storage = "libsecret" }
    case .lockedKeyring:
      machine.setStatus { $0.storage = "libsecret" }
      machine.diagnosis.external[0].probe = .locked
    case .plainSession: machine.setStatus { $0.isSessionEncrypted = false }
    case .oldCopy: machine.setStatus { $0.vault = .sample(confirmedAgo: 31) }
    case .incompleteCopy: machine.setStatus { $0.vault = .sample(isCopyComplete: false) }
    case .noDaemonProgram: machine.files["/usr/bin/kistd"] = nil
    case .readableProgram: machine.files["/usr/bin/kist"]?.mode = 0o755
    case .readableOwnProgram:
      machine.files["/usr/bin/kistd"]?.owner = 7
    case .otherKist: machine.files["/usr/local/bin/kist"] = other
    case .otherHelper: machine.files["/usr/local/bin/git-credential-kist"] = other
    case .noHelper: machine.gitHelpers = ["kist"]
    case .noDockerHelper:
      machine.homeFiles["/home/u/.docker/config.json"] = .text(
        Secret(utf8: #"{"credsStore": "kist"}"#), isCut: false)
    case .openDirectory: machine.files["/home/u/.local/state/kist"]?.mode = 0o755
    case .othersDirectory: machine.files["/run/user/7/kist"]?.owner = 8
    case .formerKey: machine.files["/home/u/.local/state/kist/key.before-0a"] = other
    case .fullDisk: machine.freeBytes = 3 << 20
    case .nearlyFullDisk: machine.freeBytes = 63 << 20
    case .noSecretService: machine.diagnosis.provider = KeyringProvider()
    case .secretServiceNotStarted:
      machine.diagnosis.provider = KeyringProvider(owner: .kist(pid: 9))
    case .secretServiceOutdated:
      machine.setUpSecretService(program: "/usr/local/bin/kist-secret-service")
      machine.diagnosis.provider = KeyringProvider(startable: .kist)
    case .nameTaken:
      machine.setUpSecretService()
      machine.diagnosis.provider = KeyringProvider(
        owner: .other(.init(pid: 9, program: "gnome-keyring-d", items: 0, lockedItems: 0)),
        startable: .kist)
    case .disabled: machine.isEnabled = "disabled"
    case .masked: machine.isEnabled = "masked"
    case .failed: machine.hasFailedSocket = true
    case .unitsCutOff: machine.servesUnits = false
    case .notInstalled: machine.isEnabled = nil
    case .noManager:
      machine.isEnabled = nil
      machine.files["/run/user/7/systemd/private"] = nil
    case .noLinger: machine.files["/var/lib/systemd/linger/u"] = nil
    case .atDesk:
      machine.files["/var/lib/systemd/linger/u"] = nil
      machine.session = "wayland"
    }
  }
}

extension SharedVaultStatus {
  /// The status of a vault of three machines.
  static func sample(
    confirmedAgo: Int = 2, isCopyComplete: Bool = true, warnings: [String] = []
  ) -> SharedVaultStatus {
    SharedVaultStatus(
      members: 3, generation: 1, head: Revision(rawValue: "a.7"), confirmedAgo: confirmedAgo,
      isCopyComplete: isCopyComplete, warnings: warnings)
  }
}

/// Runs `kist doctor` on a machine.
func examine(
  _ machine: Machine, _ options: [String] = [], onTerminal: Bool = false, hasColors: Bool = false,
  width: Int = 60
) async -> (output: String, status: CInt) {
  let recorder = Recorder()
  let terminal = recorder.terminal(isTerminal: onTerminal, hasColors: hasColors, width: width)
  let status = await Kist.status(of: ["doctor"] + options, on: terminal) { command in
    try await (command as? Doctor)?.perform(machine.checkup, terminal)
  }
  return (recorder.output, status)
}
