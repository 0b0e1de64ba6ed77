internal import Glibc
internal import KistClient
internal import KistSystem
private import Synchronization

/// Starts a kistd at the usual socket if a command finds that none listens.
struct Autostart: Sendable {
  let socket: String
  let host: Host
  var isListening: @Sendable (_ path: String) -> Bool = isListening(at:)
  /// Runs a program without the streams of this process; returns its standard error and its exit
  /// status.
  var runApart: @Sendable ([String]) throws(StorageError) -> (error: String, status: CInt) =
    errorOutput
  /// Shows a message of the kistd that was started: to a user at a terminal, or also to a script.
  var show: @Sendable (_ message: String, _ isForScripts: Bool) -> Void = { message, isForScripts in
    let terminal = Terminal.live
    if isForScripts || terminal.errorWidth != nil { terminal.note(message) }
  }

  /// Returns `nil` if the user has turned this off, or has named the socket.
  init?(at socket: String, on host: Host) {
    guard host.value("KIST_SOCKET") == nil, host.environment("KIST_AUTOSTART") != "0" else {
      return nil
    }
    self.socket = socket
    self.host = host
  }

  /// Returns a function that finds or starts kistd once; later calls return the same result.
  ///
  /// So if kistd is stopped while a command runs, such as `kist watch`, the command does not start
  /// it again.
  var findOnce: FindDaemon {
    let outcome = Once<Result<String, StorageError>>()
    return { () throws(StorageError) in
      try outcome.value {
        do throws(StorageError) { return .success(try find()) } catch { return .failure(error) }
      }.get()
    }
  }

  /// Returns the socket of a kistd that serves the storage; starts one if there is none.
  ///
  /// Takes a lock, so that many kist at the same time start only one kistd.
  private func find() throws(StorageError) -> String {
    let lock = lock()
    defer { if let lock { close(lock) } }
    if let running = running() { return running }
    try start()
    return socket
  }

  /// Returns the socket of the kistd that serves the storage; `nil` if there is none.
  func running() -> String? {
    if let other = servedElsewhere() { return other }
    return isListening(socket) ? socket : host.claimedSocket(isListening)
  }

  /// Returns the socket of a kistd that serves the storage while systemd listens for another one.
  ///
  /// The kistd that systemd would start cannot open the storage then.
  func servedElsewhere() -> String? {
    guard let claimed = host.claimedSocket({ $0 != socket && isListening($0) }) else { return nil }
    return host.daemonUnit(listeningAt: socket) == .installed ? claimed : nil
  }

  /// Returns that socket, for a command that starts no kistd.
  func findRunning() throws(StorageError) -> String {
    if let running = running() { return running }
    if let error = StorageError.foreignRuntimeDirectory(of: socket) { throw error }
    // A unit that does not listen was stopped, or failed. The error of a connection explains that.
    let unit = host.daemonUnit(listeningAt: socket)
    if unit == .installed { return socket }
    if let obstacle = host.obstacle(toStarting: unit, at: socket) { throw obstacle }
    throw StorageError(
      .unavailable, "no kistd is listening at \(socket)",
      hint: "`kist list` starts it, or says why it cannot start")
  }

  private func start() throws(StorageError) {
    let unit = host.daemonUnit(listeningAt: socket)
    if let obstacle = host.obstacle(toStarting: unit, at: socket) { throw obstacle }
    try unit == .installed ? startUnit() : startApart()
  }

  /// Waits for the lock, at most 30 seconds; returns `nil` without it.
  ///
  /// Then kistd's own lock still prevents a second kistd.
  private func lock() -> CInt? {
    guard StorageError.foreignRuntimeDirectory(of: socket) == nil,
      makeDirectory(directory(of: socket)),
      let file = try? openOwnFile(socket + ".start", O_RDWR | O_CREAT)
    else { return nil }
    if takeLock(file, attempts: 3000) { return file }
    close(file)
    return nil
  }

  private func startApart() throws(StorageError) {
    let program = host.daemonProgram ?? "kistd"
    let (error, status) = try runApart([program, "--detach", "--socket", socket])
    // If the user started another kistd at the same moment, kist uses that one.
    guard isListening(socket) else { throw StorageError(startOf: error, status) }
    // For example that the new store opens only with its key file. A script must know about a new
    // store in a directory that it names, which may be misspelled.
    let prefix = "kistd: notice: "
    for line in error.split(separator: "\n") where line.hasPrefix(prefix) {
      show("kistd " + line.dropFirst(prefix.count), host.value("KISTD_DATA") != nil)
    }
  }
}

// MARK: - The service manager

/// kistd's socket unit in this user's service manager.
enum DaemonUnit { case absent, masked, installed }

extension Host {
  /// Returns the socket of the kistd that serves the storage, at any place, if it listens there.
  ///
  /// For example that of `kistd -- COMMAND`, or of a session with other variables.
  func claimedSocket(_ isListening: (_ path: String) -> Bool) -> String? {
    let socket = claimFile.flatMap(socketPath(ofKistdHolding:))
    return socket.flatMap { isListening($0) ? $0 : nil }
  }

  /// Calls systemctl for this user's service manager; returns the lines that it prints.
  ///
  /// A cron job can have no XDG_RUNTIME_DIR, without which systemctl does not find the manager.
  func systemctl(_ words: [String]) -> [String] {
    let variable =
      value("XDG_RUNTIME_DIR") == nil ? ["env", "XDG_RUNTIME_DIR=/run/user/\(geteuid())"] : []
    return lines(variable + ["systemctl", "--user"] + words)
  }

  /// Returns whether this user's service manager has a unit that listens at the socket.
  func daemonUnit(listeningAt socket: String) -> DaemonUnit {
    guard file("/run/systemd/system") != nil else { return .absent }
    let properties = systemctl(["show", "--property=LoadState,Listen", "kistd.socket"])
    if properties.contains("LoadState=masked") { return .masked }
    let listens = properties.contains { $0.hasPrefix("Listen=\(socket) ") }
    return properties.contains("LoadState=loaded") && listens ? .installed : .absent
  }

  /// Returns the error with which a start of kistd fails in any case.
  func obstacle(toStarting unit: DaemonUnit, at socket: String) -> StorageError? {
    switch unit {
    case .masked:
      StorageError(
        .unavailable, "no kistd is listening at \(socket), and its unit is masked",
        hint: "to use the unit: `systemctl --user unmask kistd.socket`; "
          + "to start kistd without it: `kistd --detach`")
    case .absent where daemonProgram == nil:
      StorageError(
        .unavailable, "no kistd is listening at \(socket), and there is no program kistd",
        hint: "install it in the directory of kist")
    case .absent, .installed: nil
    }
  }
}

extension Autostart {
  private func startUnit() throws(StorageError) {
    _ = host.systemctl(["start"] + host.enabledSockets)
    guard !isListening(socket) else { return }
    throw StorageError(
      .unavailable, "systemd could not start kistd.socket",
      hint: hintAtFailedUnit)
  }
}

/// Advice for a unit that systemd no longer starts.
let hintAtFailedUnit =
  "`\(readJournal)` shows why; after you have mended it: "
  + "`systemctl --user reset-failed 'kistd*'`"

extension Host {
  /// The sockets of kistd to start: that of units only if it is enabled.
  ///
  /// Once kistd runs, systemd no longer starts a socket of it.
  fileprivate var enabledSockets: [String] {
    (isEnabled("kistd-credentials.socket") ? ["kistd-credentials.socket"] : []) + ["kistd.socket"]
  }

  func isEnabled(_ unit: String) -> Bool {
    systemctl(["is-enabled", unit]) == ["enabled"]
  }
}

extension StorageError {
  /// Reads the error with which `kistd --detach` ended.
  fileprivate init(startOf output: String, _ status: CInt) {
    func last(_ start: String) -> String? {
      output.split(separator: "\n").last { $0.hasPrefix(start) }.map {
        String($0.dropFirst(start.count))
      }
    }
    self =
      StorageError(
        Code(exitStatus: status) ?? .unavailable,
        "kistd did not start: \(last("kistd: ") ?? "it ended with status \(status)")",
        hint: last("hint: ") ?? "`kistd` shows why"
      ).ofStart
  }

  /// The same error for a command of kist: a wrong variable of kistd is not a fault of its request.
  var ofStart: StorageError {
    var error = self
    if error.code == .badRequest { error.code = .unavailable }
    return error
  }
}

/// A value that is made only once, even if several threads need it at the same time.
private final class Once<Value: Sendable>: Sendable {
  private let made = Mutex<Value?>(nil)

  func value(_ make: () -> Value) -> Value {
    made.withLock { made in
      let value = made ?? make()
      made = value
      return value
    }
  }
}
