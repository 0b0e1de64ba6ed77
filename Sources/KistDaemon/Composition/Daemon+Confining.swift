internal import CLinux
internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistWire
internal import Logging

extension Guest {
  /// Confines the process to what the connection to the other kistd needs.
  ///
  /// Call it after the command is forked and before there is a second thread.
  func confine() throws(StorageError) {
    // The client compares user namespaces in /proc before it sends a passphrase.
    _ = try Confinement(
      [Confinement.Rule(path: "/proc", rights: kist_may_read)],
      scopes: kist_scope_of_abstract_sockets)
  }
}

extension Daemon {
  /// Confines the process to what serving needs.
  ///
  /// Call it after the command is forked and before there is a second thread. If a directory is
  /// replaced or mounted over later, kistd must be restarted.
  func confine() throws(StorageError) {
    let isFirstStart = unsafe access(options.pinFile, F_OK) != 0
    let directories = try directories()
    // A rule needs an existing directory. On a later start, kistd does not make the directories of
    // its store, which may be on an unmounted disk. It cannot reach them until it is restarted.
    let isMadeHere = isFirstStart && !isFile(options.storePath)
    for directory in directories.always + (isMadeHere ? directories.ofStore : []) {
      _ = makeDirectory(directory)
    }
    let kept = Set(directories.always + directories.ofStore)
      .map { Confinement.Rule(path: $0, rights: kist_may_keep_files) }
    let confinement = try Confinement(
      kept + otherRules(isFirstStart: isFirstStart), scopes: scopes)
    let isWhole = confinement.calls.isInForce && confinement.files.isInForce
    logger.log(
      level: isWhole ? .debug : .info, "confined",
      metadata: ["calls": "\(confinement.calls)", "files": "\(confinement.files)"])
    if !confinement.unreachable.isEmpty {
      logger.info(
        "paths are missing; restart kistd when they exist",
        metadata: ["paths": "\(confinement.unreachable.sorted().joined(separator: " "))"])
    }
  }

  private func directories() throws(StorageError) -> (always: [String], ofStore: [String]) {
    var always = [options.pinFile, options.auditFile] + filesOfStorages.flatMap(\.own)
    if sockets.requests == nil {
      let socket = try socketLocation().path
      try checkRuntimeDirectory(of: socket, environment: environment)
      always.append(socket)
    }
    var directories = always.map(directory)
    // The store opens without a progress note if its directory cannot be made.
    if let directory = options.progressDirectory, makeDirectory(directory) {
      directories.append(directory)
    }
    return (directories, filesOfStorages.flatMap(\.store).map(directory))
  }

  /// The files of the storages that kistd may open or look at.
  private var filesOfStorages: [StorageKind.Files] {
    StorageKind.all
      .filter { !$0.isExternal || options.storage == nil || options.storage == $0 }
      .map { $0.files(options) }
  }

  private func otherRules(isFirstStart: Bool) -> [Confinement.Rule] {
    var rules = [
      // Facts about clients, and the boot ID of the machine.
      Confinement.Rule(path: "/proc", rights: kist_may_read),
      Confinement.Rule(path: "/dev/urandom", rights: kist_may_read),
      Confinement.Rule(path: "/dev/null", rights: kist_may_read | kist_may_write),
    ]
    rules += filesOfStorages.flatMap(\.read).map {
      Confinement.Rule(path: directory(of: $0), rights: kist_may_read)
    }
    // To make the name of a new directory durable, kistd opens and flushes its parent directory.
    if isFirstStart { rules.append(.init(path: "/", rights: kist_may_list)) }
    if let ownDirectory {
      rules.append(
        .init(path: directory(of: ownDirectory), rights: kist_may_remove_directories))
    }
    return rules
  }

  /// The kinds of objects that Landlock puts out of reach.
  ///
  /// - Abstract sockets, unless the session bus or the service manager listens on one.
  /// - Other processes, unless kistd passes signals on to a command.
  private var scopes: UInt64 {
    let isAbstract =
      environment("DBUS_SESSION_BUS_ADDRESS")?.contains("abstract") == true
      || environment("NOTIFY_SOCKET")?.hasPrefix("@") == true
    return (isAbstract ? 0 : kist_scope_of_abstract_sockets)
      | (child == nil ? kist_scope_of_signals : 0)
  }
}
