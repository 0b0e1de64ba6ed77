internal import Glibc
internal import KistCore
internal import KistInterop
internal import KistSystem

extension ImportSource {
  /// Reads the source at a path, or standard input if that is `-`; without a path, the keyring
  /// through kistd.
  ///
  /// - Parameter prompting: Whether a locked keyring asks for its password.
  func read(
    _ path: String?, prompting: Bool, _ terminal: Terminal
  ) throws(StorageError) -> ForeignCredentials {
    guard let path else {
      return try ForeignFormat.keyring.read(keyringItems(prompting: prompting))
    }
    if path != "-" { terminal.warnOfReaders(of: path) }
    switch self {
    case .pass: return try readPassStore(path, terminal)
    case .exported: return try exportedCredentials(in: text(at: path, longestExport, terminal))
    case .foreign(let format):
      let text = try text(at: path, format.longestFile, terminal)
      return try format.read(text, configuration: configuration(beside: path))
    }
  }

  private func keyringItems(prompting: Bool) throws(StorageError) -> Secret {
    let words =
      [Surroundings.live.daemonProgram ?? "kistd", "keyring-items"]
      + (prompting ? [] : ["--no-prompt"])
    let end = try output(of: words, upTo: ForeignFormat.keyring.longestFile)
    guard end.status == 0 else {
      throw StorageError(
        StorageError.Code(exitStatus: end.status) ?? .unavailable, "kistd did not read the keyring",
        hint: "nothing was imported; it said why", outcome: .unchanged)
    }
    return end.output
  }

  private func text(
    at path: String, _ limit: Int, _ terminal: Terminal
  ) throws(StorageError) -> Secret {
    path == "-"
      ? try terminal.input(upTo: limit, "standard input")
      : try readFile(path, upTo: limit, "the file")
  }

  /// Returns cargo's configuration file, which contains the addresses of the registries.
  private func configuration(beside path: String) -> Secret? {
    guard self == .foreign(.cargo) else { return nil }
    let folder =
      path == "-"
      ? ImportSource.foreign(.cargo).usualPlace(environmentVariable).map(directory(of:))
      : directory(of: path)
    return folder.flatMap {
      regularFile($0 + "/config.toml", upTo: ForeignFormat.cargo.longestFile, "the configuration")
    }
  }
}

extension Terminal {
  /// Prints a warning if others can read the imported file.
  fileprivate func warnOfReaders(of path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_mode & 0o077 != 0
    else { return }
    note(
      "others may read \(path), and so may have read what is in it",
      hint: "replace what it gives access to, where you share this machine")
  }
}
