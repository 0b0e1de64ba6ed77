internal import ArgumentParser
internal import Glibc
internal import KistClient
internal import KistInterop
internal import KistSystem

enum ImportSource: Hashable, Sendable {
  /// A file written by `kist export`.
  case exported
  case pass
  case foreign(ForeignFormat)

  /// Returns the path of the file that the program itself uses.
  func usualPlace(_ variable: (String) -> String?) -> String? {
    func value(_ name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
    func home(_ path: String) -> String? { value("HOME").map { $0.appendingPath(path) } }
    switch self {
    case .pass: return value("PASSWORD_STORE_DIR") ?? home(".password-store")
    case .foreign(.netrc): return value("NETRC") ?? home(".netrc")
    case .foreign(.gitCredentials): return home(".git-credentials")
    case .foreign(.docker):
      return value("DOCKER_CONFIG").map { $0 + "/config.json" } ?? home(".docker/config.json")
    case .foreign(.aws): return value("AWS_SHARED_CREDENTIALS_FILE") ?? home(".aws/credentials")
    case .foreign(.cargo):
      return (value("CARGO_HOME") ?? home(".cargo")).map { $0 + "/credentials.toml" }
    case .exported, .foreign: return nil
    }
  }

  /// The part of the file that is no longer needed after a complete import.
  var whatCanGo: String { self == .foreign(.docker) ? "`auths` from it" : "it" }
}

extension ImportSource: ExpressibleByArgument, CaseIterable {
  static var allCases: [ImportSource] {
    [.exported, .pass] + ForeignFormat.allCases.map(ImportSource.foreign)
  }

  init?(argument: String) {
    guard let source = Self.allCases.first(where: { $0.defaultValueDescription == argument }) else {
      return nil
    }
    self = source
  }

  /// Its name on the command line.
  var defaultValueDescription: String {
    switch self {
    case .exported: "kist"
    case .pass: "pass"
    case .foreign(let format): format.rawValue
    }
  }

  static var allValueStrings: [String] { allCases.map(\.defaultValueDescription) }
}

/// The choice for a name that is already stored, or that occurs several times in the file.
enum ConflictChoice: String, ExpressibleByArgument, CaseIterable {
  /// Keeps the stored credential, or takes the first of several in the file.
  case keep
  /// Replaces the stored credential, or takes the last of several in the file.
  case replace
  case fail
}

extension ImportSource {
  /// Reads the source at a path, or from standard input for `-`.
  ///
  /// Without a path, reads the keyring through kistd.
  ///
  /// - Parameters:
  ///   - isNamed: Whether the user named the path. Otherwise it must be a regular file.
  ///   - prompting: Whether a locked keyring asks for its password.
  func read(
    _ path: String?, isNamed: Bool, prompting: Bool, _ terminal: Terminal
  ) throws(StorageError) -> ForeignCredentials {
    guard let path else {
      return try ForeignFormat.keyring.read(keyringItems(prompting: prompting))
    }
    let credentials =
      switch self {
      case .pass: try readPassStore(path, terminal)
      case .exported:
        try exportedCredentials(in: text(at: path, isNamed, longestExport, terminal))
      case .foreign(let format):
        try format.read(
          text(at: path, isNamed, format.longestFile, terminal),
          configuration: configuration(beside: path))
      }
    // After the file was read, because an encrypted one is refused.
    if path != "-" { terminal.warnOfReaders(of: path) }
    return credentials
  }

  private func keyringItems(prompting: Bool) throws(StorageError) -> Secret {
    let kistd = Host.live.daemonProgram ?? "kistd"
    let words = [kistd, "keyring-items"] + (prompting ? [] : ["--no-prompt"])
    let end = try output(of: words, upTo: ForeignFormat.keyring.longestFile)
    guard end.status == 0 else {
      throw StorageError(
        StorageError.Code(exitStatus: end.status) ?? .unavailable, "kistd did not read the keyring",
        hint: "nothing was imported; the lines above give the reason", outcome: .unchanged)
    }
    return end.output
  }

  private func text(
    at path: String, _ isNamed: Bool, _ limit: Int, _ terminal: Terminal
  ) throws(StorageError) -> Secret {
    if path == "-" {
      let text = try terminal.input(upTo: limit, "standard input")
      // A program before the pipe may have failed.
      guard !text.isEmpty else {
        throw .refused(
          "standard input is empty",
          hint: "nothing was imported; check the command before the pipe")
      }
      return text
    }
    return isNamed
      ? try readFile(path, upTo: limit, "the file")
      : try readRegularFile(path, upTo: limit, path)
  }

  /// Returns cargo's configuration file, which contains the addresses of the registries.
  private func configuration(beside path: String) -> Secret? {
    guard self == .foreign(.cargo) else { return nil }
    guard let file = path == "-" ? usualPlace(environmentVariable) : path else { return nil }
    return try? readRegularFile(
      directory(of: file) + "/config.toml", upTo: ForeignFormat.cargo.longestFile,
      "the configuration")
  }
}

extension Terminal {
  /// Prints a warning if others can read the imported file.
  fileprivate func warnOfReaders(of path: String) {
    guard let status = fileStatus(of: path), status.isKind(S_IFREG), status.st_mode & 0o077 != 0,
      let real = realPath(path), isReachableByOthers(real)
    else { return }
    note(
      "other users may read \(path), and may have read the secrets in it",
      hint: "if you share this machine, change these secrets at the services that use them")
  }
}

/// Whether the modes of all directories above a file let others reach it.
private func isReachableByOthers(_ path: String) -> Bool {
  let above = directory(of: path)
  guard above != path else { return true }
  let isOpen = fileStatus(of: above).map { $0.st_mode & 0o011 != 0 } ?? true
  return isOpen && isReachableByOthers(above)
}

/// The maximum size of an entry: 1 MiB.
private let longestEntry = 1 << 20

/// Reads the directory of `pass` or gopass with gpg(1).
///
/// gpg gets only paths as arguments, and its decrypted output comes through a pipe.
///
/// If the first entry cannot be decrypted, this function stops, because the key is probably
/// missing. It leaves out later entries that cannot be decrypted, which may be for other users, and
/// entries longer than 1 MiB.
private func readPassStore(
  _ folder: String, _ terminal: Terminal
) throws(StorageError) -> ForeignCredentials {
  let files = try passFiles(below: folder)
  var store = ForeignCredentials(countedBy: "entry", named: files.map(\.name))
  var progress = ProgressBar("decrypting", on: terminal)
  var isFirst = true
  for (index, file) in files.enumerated() {
    progress.show(index, of: files.count)
    if let problem = file.problem {
      store.leaveOut(problem, at: index + 1)
      continue
    }
    defer { isFirst = false }
    let words = ["gpg", "--quiet", "--batch", "--decrypt", "--", "\(folder)/\(file.name).gpg"]
    let end: (output: Secret, status: CInt)
    do throws(StorageError) { end = try output(of: words, upTo: longestEntry) } catch {
      guard error.code == .tooLarge else { throw error }
      store.leaveOut(.overLimits, at: index + 1)
      continue
    }
    if end.status == 0 {
      try store.addPassEntry(file.name, end.output, at: index + 1)
    } else if isFirst {
      throw .refused(
        "gpg cannot decrypt the first entry", as: .denied,
        hint: "nothing was imported; `pass show` shows the reason")
    } else {
      store.leaveOut(.unreadable, at: index + 1)
    }
  }
  progress.clear()
  return store
}

/// An entry of a `pass` store, or a file that cannot be read as an entry, with the problem.
struct PassFile {
  /// Its path in the store, without `.gpg`.
  var name: String
  var problem: LeftOut?
}

/// Returns all entries of a `pass` store, sorted by name, including those that will be left out.
func passFiles(below folder: String) throws(StorageError) -> [PassFile] {
  var files: [PassFile] = []
  try addFiles(of: folder, "", depth: 0, to: &files)
  guard !files.isEmpty else {
    throw .refused(
      "there are no entries of pass in \(folder)",
      hint: "name the folder that has some: `kist import pass FOLDER`")
  }
  return files.sorted { $0.name < $1.name }
}

private func addFiles(
  of folder: String, _ path: String, depth: Int, to files: inout [PassFile]
) throws(StorageError) {
  guard let entries = unsafe opendir("\(folder)/\(path)") else {
    throw .notOpened("the folder", errno)
  }
  defer { unsafe closedir(entries) }
  while let entry = unsafe readdir(entries) {
    let bytes = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
      unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { name in
        unsafe (text: String(validatingCString: name), repaired: String(cString: name))
      }
    }
    guard let name = bytes.text else {
      files.append(PassFile(name: path + bytes.repaired, problem: .unreadableName))
      continue
    }
    if [".", "..", ".git"].contains(name) { continue }
    let child = "\(folder)/\(path)\(name)"
    let status = fileStatus(ofLink: child)
    // If the file was removed in the meantime, it is still added, and reported later.
    if status == nil, errno != ENOENT { throw .notOpened("the folder", errno) }
    if status?.isKind(S_IFDIR) == true {
      if depth < 32 {
        try addFiles(of: folder, "\(path)\(name)/", depth: depth + 1, to: &files)
      } else {
        files.append(PassFile(name: path + name, problem: .deepFolder))
      }
    } else if status?.isKind(S_IFLNK) == true, fileStatus(of: child)?.isKind(S_IFDIR) == true {
      files.append(PassFile(name: path + name, problem: .linkedFolder))
    } else if name.hasSuffix(".gpg") {
      // gpg would wait for the other end of a FIFO.
      let isReadable = fileStatus(of: child)?.isKind(S_IFREG) ?? true
      files.append(
        PassFile(name: path + name.dropLast(4), problem: isReadable ? nil : .unreadable))
    }
    guard files.count <= ForeignCredentials.most else { throw .tooManyForeign }
  }
}
