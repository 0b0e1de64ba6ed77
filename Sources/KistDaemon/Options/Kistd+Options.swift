internal import KistCore
internal import KistServer
internal import Logging

extension Kistd {
  /// Reads the options; a flag wins over its variable, and a variable that is empty is not set.
  ///
  /// Throws `badRequest`, naming the flag or the variable that is wrong.
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
    /// A directory of the XDG Base Directory Specification, where relative paths do not count.
    func home(_ name: String, _ standard: String) -> String? {
      if let path = variable(name), path.hasPrefix("/") { return path + "/kist" }
      return variable("HOME").map { $0 + standard + "/kist" }
    }

    let ownData = try setting("data", store.place.data)?.path()
    guard let data = ownData ?? home("XDG_DATA_HOME", "/.local/share") else {
      throw .wrongUsage("there is no HOME", hint: "say with --data where the store is")
    }

    let keySource: Options.KeySource
    if let directory = variable("CREDENTIALS_DIRECTORY"),
      let credential = serviceCredential(in: directory, isFile: isFile)
    {
      keySource = credential
    } else if let descriptor = setting("passphrase-fd", store.passphraseFd) {
      keySource = .passphrase(descriptor: CInt(try descriptor.integer(in: 0...Int(CInt.max))))
    } else if let path = try setting("key-file", store.place.keyFile)?.path()
      ?? home("XDG_STATE_HOME", "/.local/state").map({ $0 + "/key" })
    {
      keySource = .file(path: path)
    } else {
      throw .wrongUsage("there is no HOME", hint: "say with --key-file where the key is")
    }

    let kind =
      if let asked = setting("storage", storage) { try asked.storageKind() } else {
        keySource.impliedStorage
      }

    let state = home("XDG_STATE_HOME", "/.local/state") ?? data
    return Options(
      socket: try setting("socket", socket)?.path(),
      storage: kind,
      dataDirectory: data,
      keySource: keySource,
      // A directory that was named is a world of its own.
      pinFile: (ownData ?? state) + "/storage",
      usualPinFile: state + "/storage",
      keyringLock: state + "/keyring.lock",
      auditFile: (ownData ?? state) + "/audit.jsonl",
      auditSize: try setting("audit", audit)?.auditSize() ?? 16 << 20,
      maximumConnections: try setting("max-connections", maxConnections)?.integer(in: 1...10_000)
        ?? Server.usualMaximumConnections,
      idleExit: try setting("idle-exit", idleExit)?.duration(),
      lockAfter: try setting("lock-after", lockAfter)?.duration(),
      deadline: try setting("deadline", use.deadline)?.duration() ?? .seconds(30),
      logLevel: try setting("log-level", use.logLevel)?.logLevel() ?? .info,
      command: command)
  }
}

extension Options.KeySource {
  /// Who gives a passphrase means the storage that takes one; a key file is there by default.
  fileprivate var impliedStorage: StorageKind? {
    switch self {
    case .file: nil
    case .passphraseFile, .passphrase: .encryptedFile
    }
  }
}
