internal import ArgumentParser
internal import Glibc
internal import KistCore
internal import KistServer
internal import Logging

struct Options: Sendable, Equatable {
  enum KeySource: Sendable, Equatable {
    case file(path: String)
    case passphraseFile(path: String)
    case passphrase(descriptor: CInt)

    var descriptor: CInt? { if case .passphrase(let number) = self { number } else { nil } }
  }

  var socket: String?
  /// The storage to open; `nil` to select one automatically.
  var storage: StorageKind?
  var dataDirectory: String
  var keySource: KeySource
  /// Whether the user named the key file, so that it must exist beside an existing store.
  var namesKeyFile: Bool
  /// Whether a new passphrase of the store may have fewer than 8 bytes.
  var allowsWeakPassphrase: Bool
  /// The file that records where credentials are kept.
  var pinFile: String
  /// The same file for a kistd without `--data`.
  var usualPinFile: String
  /// Whether the user named the directory of the store.
  var namesDirectory: Bool { pinFile != usualPinFile }
  /// The file that is locked while the keyring is served; one for each user.
  var keyringLock: String
  /// The directory of the progress notes of stores; `nil` without a home directory.
  var progressDirectory: String?
  /// Whether to open an encrypted file that is older than its progress note.
  var acceptsRollback: Bool
  /// The key file by which shared vaults know this machine.
  var machineKey: String
  /// The socket at which an adapter serves the cluster of a shared vault; `nil` for the usual one.
  var clusterSocket: String?
  var auditFile: String
  /// The number of bytes of the audit log to keep; 0 for no log.
  var auditSize: Int
  var maximumConnections: Int
  /// The time without a connected client after which kistd ends; `nil` for never.
  var idleExit: Duration?
  /// The time without a credential request after which kistd locks the encrypted file; `nil`: never.
  var lockAfter: Duration?
  var deadline: Duration
  var logLevel: Logger.Level
  /// The log of a kistd that runs in the background; `nil` to stay in the foreground.
  var logFile: String?
  /// The command to serve for; empty to serve until kistd is stopped.
  var command: [String]
}

private let homeHint =
  "set HOME to your home directory; or start kistd with --data, --key-file and --socket"

extension Kistd {
  /// Reads the options; throws `badRequest`, naming the flag or variable that is wrong.
  ///
  /// A flag overrides its variable. An empty variable counts as unset.
  func options(
    environment: (String) -> String?, isFile: (String) -> Bool = isFile
  ) throws(StorageError) -> Options {
    func variable(_ name: String) -> String? {
      environment(name).flatMap { $0.isEmpty ? nil : $0 }
    }
    func setting(_ flag: String, _ value: String?) -> Setting? {
      if let value { return Setting(name: "--" + flag, text: value) }
      let name = "KISTD_" + flag.uppercased().replacing("-", with: "_")
      return variable(name).map { Setting(name: name, text: $0) }
    }
    func path(_ flag: String, _ value: String?) throws(StorageError) -> String? {
      guard let setting = setting(flag, value) else { return nil }
      return try detach ? setting.absolutePath() : setting.path()
    }
    /// Returns a directory of the XDG Base Directory Specification, which ignores relative paths.
    func home(_ name: String, _ standard: String) -> String? {
      if let path = variable(name), path.hasPrefix("/") {
        return path.appendingPath("kist")
      }
      return variable("HOME").map { $0.appendingPath(standard + "/kist") }
    }

    let ownData = try path("data", store.place.data)
    guard let data = ownData ?? home("XDG_DATA_HOME", ".local/share") else {
      throw .wrongUsage("HOME is not set", hint: homeHint)
    }

    var namesKeyFile = false
    let keySource: Options.KeySource
    if let directory = variable("CREDENTIALS_DIRECTORY"),
      let credential = serviceCredential(in: directory, isFile: isFile)
    {
      keySource = credential
    } else if let descriptor = setting("passphrase-fd", store.passphraseFd) {
      keySource = .passphrase(descriptor: CInt(try descriptor.integer(in: 0...Int(CInt.max))))
    } else if let path = try path("key-file", store.place.keyFile) {
      keySource = .file(path: path)
      namesKeyFile = true
    } else if let path = home("XDG_STATE_HOME", ".local/state").map({ $0 + "/key" }) {
      keySource = .file(path: path)
    } else {
      throw .wrongUsage("HOME is not set", hint: homeHint)
    }

    let machineCredential = variable("CREDENTIALS_DIRECTORY").map { $0 + "/kist.machine-key" }
      .flatMap { isFile($0) ? $0 : nil }
    let ownMachineKey = try path("machine-key", vault.machineKey)

    // A passphrase implies the encrypted file; a key file, the default, does not.
    let kind: StorageKind? =
      if let asked = setting("storage", storage) {
        try asked.storageKind()
      } else if case .file = keySource { nil } else { .encryptedFile }
    let stateHome = home("XDG_STATE_HOME", ".local/state")
    let state = stateHome ?? data
    let options = Options(
      socket: try path("socket", socket),
      storage: kind,
      dataDirectory: data,
      keySource: keySource,
      namesKeyFile: namesKeyFile,
      allowsWeakPassphrase: try setting("weak", strength.weak ? "1" : nil)?.flag() ?? false,
      // A directory that the user names has its own pin and audit log.
      pinFile: (ownData ?? state) + "/storage",
      usualPinFile: state + "/storage",
      keyringLock: state + "/keyring.lock",
      progressDirectory: stateHome,
      acceptsRollback: acceptRollback,
      machineKey: machineCredential ?? ownMachineKey ?? (ownData ?? state) + "/machine.key",
      clusterSocket: try path("cluster", vault.cluster),
      auditFile: (ownData ?? state) + "/audit.jsonl",
      auditSize: try setting("audit", audit)?.auditSize() ?? 16 << 20,
      maximumConnections: try setting("max-connections", maxConnections)?.integer(in: 1...10_000)
        ?? Server.usualMaximumConnections,
      idleExit: try setting("idle-exit", idleExit)?.duration(upTo: .days(365)),
      lockAfter: try setting("lock-after", lockAfter)?.duration(upTo: .days(365)),
      deadline: try setting("deadline", use.deadline)?.duration(upTo: .days(1)) ?? .seconds(30),
      logLevel: try setting("log-level", use.logLevel)?.logLevel()
        ?? (command.isEmpty ? .info : .warning),
      logFile: detach ? (ownData ?? state) + "/kistd.log" : nil,
      command: command)
    try options.checkDetaching()
    return options
  }
}

extension ParsableCommand {
  /// Returns the options of kistd; `setFlags` copies the flags that this command shares with kistd.
  func options(
    environment: (String) -> String?, _ setFlags: (inout Kistd) -> Void
  ) throws(StorageError) -> Options {
    do {
      var kistd = try Kistd.parse([])
      setFlags(&kistd)
      return try kistd.options(environment: environment)
    } catch { throw usageError(error, of: Self.self) }
  }
}

/// Returns the key or passphrase from a service manager (systemd.exec(5), `LoadCredential=`).
func serviceCredential(
  in directory: String, isFile: (String) -> Bool
) -> Options.KeySource? {
  let key = directory + "/kist.key"
  if isFile(key) { return .file(path: key) }
  let passphrase = directory + "/kist.passphrase"
  return isFile(passphrase) ? .passphraseFile(path: passphrase) : nil
}

/// The variables that kistd reads, besides those that begin with `KISTD_`.
private let others: Set<String> = [
  "CREDENTIALS_DIRECTORY", "DBUS_SESSION_BUS_ADDRESS", "HOME", "JOURNAL_STREAM", "KIST_SOCKET",
  "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
]

/// Variables that a service manager sets for kistd alone, and that no other program gets.
private let ofThisProcess: Set<String> = [
  "LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID", "LISTEN_PIDFDID", "NOTIFY_SOCKET", "WATCHDOG_PID",
  "WATCHDOG_USEC",
]

/// Reads kistd's part of the environment, and removes the variables that are for kistd alone.
///
/// Call it before there is a second thread. Throws `badRequest`, naming the variable, if a value is
/// not UTF-8. Replacing the invalid bytes would change the value.
func takeEnvironment() throws(StorageError) -> [String: String] {
  var variables: [String: String] = [:]
  var next = unsafe environ
  while let entry = unsafe next.pointee {
    unsafe next += 1
    guard let equals = unsafe strchr(entry, CInt(UInt8(ascii: "="))) else { continue }
    let length = unsafe equals - entry
    let name = unsafe String(
      decoding: UnsafeRawBufferPointer(start: entry, count: length), as: UTF8.self)
    guard name.hasPrefix("KISTD_") || others.contains(name) || ofThisProcess.contains(name)
    else { continue }
    guard let value = unsafe String(validatingCString: equals + 1) else {
      throw StorageError(
        .badRequest, "the environment variable \(name) is not UTF-8",
        hint: "set it to text in UTF-8, or unset it")
    }
    // The first one counts, as for getenv(3).
    if variables[name] == nil { variables[name] = value }
  }
  for name in ofThisProcess { unsafe unsetenv(name) }
  return variables
}
