internal import Glibc
internal import KistCore
internal import KistSystem

#if Libsecret
  internal import KistLibsecret
#endif

extension StorageKind {
  static let libsecret = StorageKind(
    rawValue: "libsecret", label: "keyring", isExternal: true, isChosenAutomatically: true,
    identity: nil,
    files: { Files(own: [$0.keyringLock]) },
    probe: { await probeKeyring(busAddress: $0.busAddress) },
    check: { context throws(StorageError) in
      try ProcessLock.checkIsFree(
        at: context.options.keyringLock, hint: lockHint, orElse: StorageError.keyringServed)
    },
    open: { context, _ throws(StorageError) in
      let pinFile = PinFile(path: context.options.pinFile)
      return try openKeyring(context).mappingErrors { $0.ofKeyring(pinFile) }
    },
    served: { storage, options in
      var storage = storage
      storage.credentials = storage.credentials.withDeadline(
        options.deadline, sleep: sleepUnwatched)
      return storage
    },
    countLaterData: nil, whenLocked: { error, _, _ in error })
}

/// Opens the keyring, which only one kistd of a user uses at a time.
///
/// Throws without a session bus. Otherwise a kistd that cron started would continue to run, and
/// answer each `kist` of the desktop with this error.
private func openKeyring(_ context: StorageContext) throws(StorageError) -> OpenStorage {
  guard let busAddress = context.busAddress else {
    throw StorageError.noBus.ofKeyring(PinFile(path: context.options.pinFile))
  }
  let path = context.options.keyringLock
  try makeDirectory(directory(of: path), hint: lockHint)
  let lock = try ProcessLock(at: path, hint: lockHint, orElse: StorageError.keyringServed)
  var storage = try openKeyring(
    busAddress: busAddress, deadline: context.options.deadline, whenBusEnds: context.whenCutOff)
  storage.close = { [close = storage.close] in
    await close()
    lock.release()
  }
  return storage
}

private let lockHint = "check the directory, or name another one in XDG_STATE_HOME"

extension Options {
  /// Throws `busy` where a kistd serves the keyring.
  func checkKeyringIsFree() throws(StorageError) {
    try ProcessLock.checkIsFree(at: keyringLock, hint: lockHint) { owner in
      let user = owner.command == nil ? "a kistd serves the keyring," : "the keyring is in use by"
      return StorageError(.busy, "\(user) \(owner)", hint: owner.stop)
    }
  }
}

extension StorageContext {
  /// Returns the provider of the Secret Service on the session bus; `nil` if there is no bus.
  func keyringProvider() async -> KeyringProvider? {
    var provider = await KistDaemon.keyringProvider(busAddress: busAddress)
    if case .other(var running) = provider?.owner {
      running.program = programName(of: running.pid)
      provider?.owner = .other(running)
    }
    return provider
  }

  fileprivate var busAddress: String? {
    sessionBusAddress(environment: environment, isSocket: isSocket)
  }
}

/// Returns the name of a process's program; `nil` if the process does not exist.
func programName(of pid: Int) -> String? {
  guard let name = text(ofProcFile: "/proc/\(pid)/comm")?.split(separator: "\n").first else {
    return nil
  }
  // The kernel cuts that name after 15 bytes (proc(5)). The command line has the whole name.
  let words = text(ofProcFile: "/proc/\(pid)/cmdline")?.split(separator: "\0") ?? []
  let program = words.first?.split(separator: "/").last ?? ""
  return String(program.hasPrefix(name) ? program : name)
}

extension StorageError {
  fileprivate static func keyringServed(by owner: LockOwner) -> StorageError {
    guard owner.command == nil else {
      return StorageError(
        .unavailable, "the keyring is in use by \(owner)", hint: owner.stop)
    }
    return StorageError(
      .unavailable, "another kistd serves the keyring already, \(owner)",
      hint:
        "use that kistd, as `kist` does, or \(owner.stop); to use a separate store: "
        + "`kistd --data DIRECTORY`")
  }

  fileprivate func ofKeyring(_ pinFile: PinFile) -> StorageError {
    do throws(StorageError) {
      let pin = try pinFile.read()
      // If credentials are kept elsewhere, kistd works without the keyring.
      return pin == nil || pin?.kind == .libsecret ? ofKeyring(isPinned: pin != nil) : self
    } catch {
      // The pin cannot be read, so it is possible that it names the keyring.
      return ofKeyring(isPinned: true)
    }
  }

  func ofKeyring(isPinned: Bool) -> StorageError {
    guard code == .unavailable || code == .locked && !isPinned else { return self }
    let advice =
      isPinned
      ? "credentials are kept in the keyring, and kistd needs it to use or move them; "
        + "to use a separate store: `kistd --data DIRECTORY`"
      : "to work without the keyring, stop any other kistd, and the service with "
        + "`\(LockOwner.stopService)`; then run `kistd --detach --storage encrypted-file`"
    var error = self
    error.hint = (hint.map { $0 + "; " } ?? "") + advice
    return error
  }
}

/// Returns the address of a running session bus (D-Bus specification); kistd starts no bus.
///
/// Leaves out an address that would start a bus, and the socket of another user: `su` and `sudo` may
/// keep the address of the bus of another session.
func sessionBusAddress(
  environment: (String) -> String?, isSocket: (String) -> Bool,
  isForeign: (String) -> Bool = { fileStatus(of: $0).map { $0.st_uid != geteuid() } ?? false }
) -> String? {
  let addresses = (environment("DBUS_SESSION_BUS_ADDRESS") ?? "").split(separator: ";")
    .filter { !$0.hasPrefix("autolaunch:") && !(socketPath(in: $0).map(isForeign) ?? false) }
  if !addresses.isEmpty { return addresses.joined(separator: ";") }
  guard let directory = environment("XDG_RUNTIME_DIR"), directory.hasPrefix("/") else { return nil }
  let path = directory + "/bus"
  return isSocket(path) ? "unix:path=" + escaped(path) : nil
}

/// Returns the path in an address of the form `unix:path=PATH`, without escapes; `nil` for any other.
private func socketPath(in address: Substring) -> String? {
  guard address.hasPrefix("unix:") else { return nil }
  let path = address.dropFirst("unix:".count).split(separator: ",")
    .first { $0.hasPrefix("path=") }?.dropFirst("path=".count)
  return path.map(unescaped)
}

private func unescaped(_ value: Substring) -> String {
  var (bytes, rest) = ([UInt8](), value.utf8)
  while let byte = rest.popFirst() {
    if byte == UInt8(ascii: "%"), let code = UInt8(Substring(rest.prefix(2)), radix: 16) {
      rest = rest.dropFirst(2)
      bytes.append(code)
    } else {
      bytes.append(byte)
    }
  }
  return String(decoding: bytes, as: UTF8.self)
}

/// The bytes of a value in an address that need no escape ("Server Addresses").
private let plain = Set("-_/.\\*".utf8).union("0123456789".utf8)
  .union("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

private func escaped(_ path: String) -> String {
  path.utf8.map { byte in
    plain.contains(byte)
      ? String(Unicode.Scalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }.joined()
}

/// Items of other programs, the number of items in locked keyrings, and the labels of further items.
typealias ForeignItems = (items: [KeyringItem], locked: Int, others: [String])

/// Returns other programs' items that have one of these sets of attributes, and the labels of the rest.
func foreignItems(
  with searches: [[String: String]], prompting: Bool, busAddress: String?, deadline: Duration
) async throws(StorageError) -> ForeignItems {
  #if Libsecret
    let found = try await Libsecret.foreignItems(
      with: searches, prompting: prompting,
      Libsecret.Options(busAddress: busAddress, deadline: deadline))
    return (found.items, found.locked, found.others)
  #else
    throw .noKeyrings
  #endif
}

private func openKeyring(
  busAddress: String?, deadline: Duration, whenBusEnds: @escaping @Sendable () -> Void
) throws(StorageError) -> OpenStorage {
  #if Libsecret
    Libsecret.open(
      Libsecret.Options(busAddress: busAddress, deadline: deadline, whenBusEnds: whenBusEnds))
  #else
    throw .noKeyrings
  #endif
}

private func keyringProvider(busAddress: String?) async -> KeyringProvider? {
  #if Libsecret
    await Libsecret.provider(Libsecret.Options(busAddress: busAddress, deadline: .seconds(3)))
  #else
    nil
  #endif
}

private func probeKeyring(busAddress: String?) async -> StorageProbe {
  #if Libsecret
    await Libsecret.probe(Libsecret.Options(busAddress: busAddress, deadline: .seconds(3)))
  #else
    .unusable(.noKeyrings)
  #endif
}

extension StorageError {
  /// The reason why there is no keyring without a session bus.
  fileprivate static var noBus: StorageError {
    #if Libsecret
      .noSessionBus
    #else
      .noKeyrings
    #endif
  }
}

#if !Libsecret
  extension StorageError {
    fileprivate static var noKeyrings: StorageError {
      StorageError(
        .unavailable, "this kistd was built without support for keyrings",
        hint: "the kistd of the Debian package supports them; that of the tarball does not")
    }
  }
#endif
