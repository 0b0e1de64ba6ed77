internal import ArgumentParser
internal import KistClient
internal import KistSystem
internal import KistWire

struct Doctor: AsksKistd {
  static let configuration = CommandConfiguration(
    abstract: "Find out what is wrong, and what to do about it.",
    usage: "kist doctor [options]",
    discussion: """
      Checks the daemon, its storage, the keyring, the service, files and programs. Changes \
      nothing. The exit status is 0 if there is no problem, otherwise that of the first problem.

        kist doctor
      """)

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let socket = try common.socketPath()
    let autostart = common.socket == nil ? Autostart(at: socket, on: .live) : nil
    let running = autostart?.running()
    var checkup = Checkup(
      socket: running ?? socket, kistd: try common.kistd(starting: false), host: .live,
      isLeftToStart: autostart != nil && running == nil)
    if autostart == nil, !isListening(at: socket) {
      checkup.unusedSocket = Host.live.claimedSocket(isListening(at:))
    }
    try await perform(checkup, .live)
  }

  /// Prints the findings; throws the exit status of the first problem.
  func perform(_ checkup: Checkup, _ terminal: Terminal) async throws {
    var findings = await checkup.findings()
    for index in findings.indices {
      findings[index].hint = hint(findings[index].hint, over: common.socket)
    }
    try terminal.show(findings, asJSON: common.json)
    if let code = findings.compactMap(\.state.code).first { throw ExitCode(code.exitStatus) }
  }
}

/// The inputs of `kist doctor`.
struct Checkup: Sendable {
  /// The path of kistd's socket.
  var socket: String
  var kistd: Endpoints
  var host: Host
  /// Whether no kistd listens yet, and a command that needs one starts it.
  var isLeftToStart = false
  /// The socket of a kistd that serves the storage, which kist may not look for.
  var unusedSocket: String?
}

extension Checkup {
  /// Returns all findings, the most important first.
  func findings() async -> [Finding] {
    let status: Result<StorageStatus, StorageError>
    do throws(StorageError) { status = .success(try await kistd.access.status()) } catch {
      status = .failure(error)
    }
    let unit = host.daemonUnit(listeningAt: socket)
    let otherBus = unit == .installed ? host.otherBusOfUnits() : nil
    let diagnosis = host.diagnosis(ofDetached: isLeftToStart && unit == .absent, on: otherBus)
    let greeting = isLeftToStart ? startFinding(of: unit, diagnosis) : await greeting()
    return await [greeting]
      + storageFindings(
        status, kistdAnswers: !isLeftToStart && greeting.state.code == nil, diagnosis,
        isServed: unusedSocket != nil, whyLocked: whyLocked(status), damage: damage(status))
      + (isLeftToStart && diagnosis == nil && host.daemonProgram != nil ? [.noDiagnosis] : [])
      + (otherBus == nil ? [] : [.otherBus])
      + host.secretServiceFindings(
        otherBus == nil ? diagnosis?.provider : host.keyringProvider(),
        holdsCredentials: ((try? status.get())?.storage
          ?? (try? diagnosis?.choice.get())?.storage) == "libsecret")
      + host.serviceFindings()
      + host.fileFindings(socket: socket, store: (try? status.get())?.path)
      + (diagnosis?.mayOpenWithKeyFile == false ? [] : host.backupFindings(try? status.get()))
      + host.programFindings() + host.plaintextFindings()
  }

  /// Returns the error that explains why the storage is locked: its key may be missing.
  private func whyLocked(_ status: Result<StorageStatus, StorageError>) async -> StorageError? {
    guard case .success(let status) = status, status.isLocked else { return nil }
    do throws(StorageError) { try await kistd.credentials.checkIsOpen() } catch { return error }
    return nil
  }

  /// Returns the error about a damaged item of an open keyring; other storages check themselves.
  private func damage(_ status: Result<StorageStatus, StorageError>) async -> StorageError? {
    guard case .success(let status) = status, !status.isLocked, status.integrity == nil else {
      return nil
    }
    do throws(StorageError) { _ = try await kistd.credentials.findAll() } catch {
      return error.code == .corrupt ? error : nil
    }
    return nil
  }

  private func startFinding(of unit: DaemonUnit, _ diagnosis: StorageDiagnosis?) -> Finding {
    if let obstacle = host.obstacle(toStarting: unit, at: socket) {
      return Finding(obstacle, about: "kistd")
    }
    var canStart = unit != .installed || !host.hasFailedSocket
    if case .failure = diagnosis?.choice { canStart = false }
    return canStart
      ? .ok("kistd", "it does not run; the first command that needs it starts it")
      : .note("kistd", "it does not run, and cannot start")
  }

  private func greeting() async -> Finding {
    if let unusedSocket {
      return Finding(
        .problem(.unavailable), "kistd",
        "no kistd is listening at \(socket), but one serves the storage at \(unusedSocket)",
        hint: "use that socket: `export KIST_SOCKET=\(shellQuoted(unusedSocket))`")
    }
    do throws(StorageError) {
      let hello = try await kistd.hello()
      let answer = "\(hello.version) answers at \(socket)"
      guard hello.version != KistVersion.current else { return .ok("kistd", answer) }
      return .note(
        "kistd", "\(answer), and this is kist \(KistVersion.current)",
        hint: "restart it: `systemctl --user restart kistd`")
    } catch { return Finding(error, about: "kistd") }
  }
}

extension Finding {
  fileprivate static let noDiagnosis = Finding(
    .problem(.unavailable), "storage", "kistd does not report which storage it would open",
    hint: "`kistd probe --detach` shows why")

  fileprivate static let otherBus = Finding.note(
    "bus",
    "this shell has a session bus of its own, as in `dbus-run-session`: kistd, which systemd starts, cannot "
      + "reach a keyring on it")
}

extension Host {
  /// Returns the provider of the keyring, from `kistd probe`, which starts none.
  func keyringProvider() -> KeyringProvider? {
    daemonProgram.flatMap { lines([$0, "probe", "--provider"]).first }
      .flatMap { KeyringProvider($0) }
  }

  /// Returns the storage that kistd would open, from `kistd probe`.
  ///
  /// Runs the kistd next to this program, or else the one on PATH. For a kistd that kist starts in
  /// the background, also checks what it needs for that.
  ///
  /// - Parameter bus: the address of the session bus; `nil` for that of this program.
  func diagnosis(ofDetached isDetached: Bool = false, on bus: String? = nil) -> StorageDiagnosis? {
    let setting = bus.map { ["env", "DBUS_SESSION_BUS_ADDRESS=\($0)"] } ?? []
    let options = ["probe", "--json"] + (isDetached ? ["--detach"] : [])
    return daemonProgram.flatMap { lines(setting + [$0] + options).first }
      .flatMap { StorageDiagnosis($0) }
  }

  /// Returns the address of the session bus of the user's units, if this program has another bus.
  fileprivate func otherBusOfUnits() -> String? {
    let name = "DBUS_SESSION_BUS_ADDRESS"
    let ofUnits = systemctl(["show-environment"])
      .first { $0.hasPrefix("\(name)=") }?.dropFirst(name.count + 1)
    guard let own = environment(name), let ofUnits,
      // The rest is the number of the bus, which not every address has.
      own.prefix(while: { $0 != "," }) != ofUnits.prefix(while: { $0 != "," })
    else { return nil }
    return String(ofUnits)
  }
}

extension StorageDiagnosis {
  /// Whether the key file may open the storage: only an encrypted file for which kistd needs no
  /// passphrase.
  fileprivate var mayOpenWithKeyFile: Bool {
    switch choice {
    case .success(let choice): choice.whyLocked == nil && choice.storage == "encrypted-file"
    // If the chosen storage is that of another program, the error is the one of its probe.
    case .failure(let error): !external.contains { $0.probe == .unusable(error) }
    }
  }
}
