internal import KistCore
internal import KistInterop
internal import KistSystem

extension Host {
  /// Checks the access of other users to kistd's directories, and the free disk space.
  ///
  /// - Parameter store: the path of the file that kistd has open; `nil` if it has none.
  func fileFindings(socket: String, store: String?) -> [Finding] {
    // A relative path is one from the directory of kistd.
    let store = store.flatMap { $0.hasPrefix("/") ? $0 : nil }
    let data = store.map(directory(of:)) ?? dataDirectory
    let key = keyFile.map(directory(of:))
    var directories: [String] = []
    for path in [directory(of: socket), data, key] {
      guard let path = path.flatMap(existing), !directories.contains(path) else { continue }
      directories.append(path)
    }
    let faults = directories.compactMap(fault)
    let other = store.flatMap(otherStore).map { Finding.note("store", $0.message, hint: $0.hint) }
    return [other].compactMap(\.self)
      + (faults.isEmpty ? [privacy(of: directories)] : faults)
      + [data.flatMap(room)].compactMap(\.self) + (keyFile.map(formerKeys) ?? [])
  }

  /// Returns a directory, or the directory of another user in the home of this user where it would be.
  private func existing(_ path: String) -> String? {
    if file(path)?.isDirectory == true { return path }
    guard let home = value("HOME"), path.hasPrefix(home + "/") else { return nil }
    var path = path
    while path != home, file(path) == nil { path = directory(of: path) }
    return path != home && file(path)?.owner != uid ? path : nil
  }

  /// Returns a note if kistd has another store open than the variables of this shell name.
  func otherStore(_ path: String) -> (message: String, hint: String)? {
    guard let named = value("KISTD_DATA"), directory(of: path) != named else { return nil }
    let isSame = file(directory(of: path)).map { $0.identity == file(named)?.identity } ?? false
    if isSame { return nil }
    return (
      "kistd uses the store \(path), but KISTD_DATA in this shell names \(named)",
      "kistd keeps the variables with which it started: to use the other store, stop kistd, and "
        + "run `kist` in this shell; if systemd starts kistd, set KISTD_DATA in "
        + "~/.config/kist/kistd.env"
    )
  }

  /// Returns a finding for each key that `kistd rekey` kept.
  ///
  /// Only the user knows when the key is no longer needed.
  private func formerKeys(of key: String) -> [Finding] {
    let folder = key.lastIndex(of: "/").map { key[...$0] } ?? ""
    return names(directory(of: key)).map { folder + $0 }.filter { $0.hasPrefix("\(key).before-") }
      .sorted()
      .map { path in
        .note(
          "former key",
          "\(path) opens copies of the store from before a `kistd rekey`, and other stores "
            + "that use this key",
          hint: "if you have no such copies or stores, remove it: `rm \(shellQuoted(path))`")
      }
  }

  /// Returns a note if one backup of the home directory has both the store and its key.
  ///
  /// Backup programs can leave out a directory with a `.nobackup` or a `CACHEDIR.TAG`.
  func backupFindings(_ status: StorageStatus?) -> [Finding] {
    guard let home = value("HOME"), let key = keyFile, let data = dataDirectory,
      // Another file may open the store, such as one with a passphrase.
      status.map({ $0.unlocksWith == .keyFile && $0.keyProtection.contains(key) }) ?? true,
      file(key) != nil, file(data + "/credentials.db") != nil,
      [key, data].allSatisfy({ $0.hasPrefix(home + "/") }),
      [".nobackup", "CACHEDIR.TAG"].allSatisfy({ file("\(directory(of: key))/\($0)") == nil })
    else { return [] }
    let mark = shellQuoted(directory(of: key) + "/.nobackup")
    return [
      .note(
        "backup",
        "a backup of \(home) has the store and its key file \(key): anybody who gets the backup can "
          + "read the credentials",
        hint: "keep a copy of the key file elsewhere, mark its directory with `touch \(mark)`, and "
          + "leave such directories out of the backup: `--exclude-if-present .nobackup` of borg and "
          + "restic")
    ]
  }

  private func privacy(of directories: [String]) -> Finding {
    let message =
      directories.isEmpty
      ? "there are no directories of kist yet"
      : "other users have no access to " + directories.joined(separator: ", ")
    return .ok("files", message)
  }

  private func fault(of path: String) -> Finding? {
    guard let directory = file(path) else { return nil }
    // Other directories, such as /tmp, may be shared. A hint must not change them.
    let isOwnDirectory = path.split(separator: "/").last == "kist"
    let useAnother = "use a directory of your own with mode 700"
    if directory.owner != uid {
      let isInHome = value("HOME").map { path.hasPrefix($0 + "/") } ?? false
      return Finding(
        .problem(.denied), "files", "\(path) belongs to another user",
        hint: isInHome
          ? uid == 0 ? "run kist as the user whose home it is" : remedyOfTakingOver(path)
          : isOwnDirectory ? "move it away, or ask its owner or the administrator to" : useAnother)
    }
    guard directory.mode & 0o077 != 0 else { return nil }
    return .note(
      "files", "other users have access to \(path)",
      hint: isOwnDirectory ? "remove this access: `chmod 700 \(shellQuoted(path))`" : useAnother)
  }

  /// Checks the nearest existing parent if a directory does not exist yet.
  private func room(in path: String) -> Finding? {
    var path = path
    while file(path) == nil, let slash = path.lastIndex(of: "/"), slash > path.startIndex {
      path = String(path[..<slash])
    }
    guard let free = freeBytes(path) else { return nil }
    let size = free < 10 << 30 ? "\(free >> 20) MiB" : "\(free >> 30) GiB"
    let message = "\(size) are free for \(path)"
    if free < 4 << 20 {
      return Finding(
        .problem(.full), "disk", message, hint: "free some space; kistd may refuse to save")
    }
    guard free < 64 << 20 else { return .ok("disk", message) }
    return .note("disk", message, hint: "free some space before kistd refuses to save")
  }

  /// Returns the findings about the programs that run as `kist`, `kistd` and the helpers of tools.
  func programFindings() -> [Finding] {
    let kist = "\(KistVersion.current), \(program)"
    var findings = [Finding.ok("kist", kist)]
    if let other = other("kist") {
      findings[0] = .note(
        "kist", "\(kist), but the command `kist` runs \(other)",
        hint: "put the directory of the right one first in PATH, or remove the other")
    }
    if daemonProgram == nil {
      findings.append(
        .note(
          "kistd", "there is no kistd next to kist or on PATH",
          hint: "install it in the directory of kist"))
    }
    return findings + [program, daemonProgram].compactMap { $0.flatMap(finding(ofReadable:)) }
      + Tool.allCases.compactMap(finding(of:))
  }

  /// Returns a finding if this user can read the file of a program.
  ///
  /// Then the user's other programs can open its memory while it starts.
  private func finding(ofReadable path: String) -> Finding? {
    guard uid != 0, let program = file(path) else { return nil }
    let isOwn = program.owner == uid
    guard program.mode & (isOwn ? 0o400 : 0o044) != 0 else { return nil }
    let command = (isOwn ? "chmod 111 " : "sudo chmod 711 ") + shellQuoted(path)
    return .note(
      "programs",
      "you can read \(path), so your other programs can open its memory while it starts",
      hint: "make it unreadable: `\(command)`, then restart it")
  }

  private func finding(of tool: Tool) -> Finding? {
    // A different tool of that name is widely known.
    guard tool != .keyring, let name = tool.program else { return nil }
    if let other = other(name) {
      return .note(
        tool.rawValue, "it uses \(other) instead of this kist",
        hint: "make it a symbolic link to \(program), or remove it")
    }
    guard path(of: name) == nil, isSetToAskKist(tool) else { return nil }
    return .note(
      tool.rawValue, "it is set to ask kist, but there is no \(name) on PATH",
      hint: hint(atMissing: name))
  }

  private func isSetToAskKist(_ tool: Tool) -> Bool {
    let setup = tool.setup(linkingTo: linkTarget, docker: dockerState, podman: podmanState)
    guard let asked = setup.asked else { return !setup.done.isEmpty }
    return asked.helpers(in: lines(asked.command)).contains(asked.kist)
  }

  /// Returns the program that a name runs; `nil` if it is this program or none.
  private func other(_ name: String) -> String? {
    guard let found = path(of: name), let own = file(program) else { return nil }
    return file(found) == own ? nil : found
  }

  /// Whether systemd no longer listens for clients, because kistd failed several times.
  ///
  /// A failed service starts again for the next client. A failed socket does not.
  var hasFailedSocket: Bool {
    systemctl(["is-failed", "kistd.socket"]) == ["failed"]
  }

  /// Returns the findings about whether systemd starts kistd; returns none without systemd.
  func serviceFindings() -> [Finding] {
    guard file("/run/systemd/system") != nil else { return [] }
    if hasFailedSocket {
      return [
        Finding(
          .problem(.unavailable), "service", "systemd could not start kistd", hint: hintAtFailedUnit
        )
      ]
    }
    // Otherwise, the next command of kist starts both sockets.
    if isEnabled("kistd-credentials.socket"), isActive("kistd.socket"),
      !isActive("kistd-credentials.socket")
    {
      return [
        Finding(
          .problem(.unavailable), "service",
          "units get no credentials, because kistd-credentials.socket is not started",
          hint: "`systemctl --user stop kistd.service; systemctl --user reset-failed 'kistd*'; "
            + "systemctl --user start kistd-credentials.socket kistd.socket`")
      ]
    }
    switch systemctl(["is-enabled", "kistd.socket"]).first {
    case "enabled": return [.ok("service", "systemd starts kistd for the first client"), lingering]
    case "disabled":
      let hint = "to change that: `systemctl --user enable --now kistd.socket`"
      return [
        .note("service", "systemd starts kistd only after the first kist command", hint: hint)
      ]
    case "masked":
      let hint = "to change that: `systemctl --user unmask kistd.socket`"
      return [
        .note("service", "the unit of kistd is masked, so kist does not start kistd", hint: hint)
      ]
    case nil where file("/run/user/\(uid)/systemd/private") == nil:
      let hint = "on a server: `loginctl enable-linger \(user ?? "USER")`"
      return [
        .note(
          "service", "no systemd runs for this user, so kist starts kistd itself", hint: hint)
      ]
    default:
      let hint = "`make install` installs the unit"
      return [
        .note("service", "systemd has no unit for kistd, so kist starts it itself", hint: hint)
      ]
    }
  }

  private func isActive(_ unit: String) -> Bool {
    systemctl(["is-active", unit]) == ["active"]
  }

  /// Without lingering, a user's processes end with the last session (loginctl(1)).
  private var lingering: Finding {
    if let user, file("/var/lib/systemd/linger/\(user)") != nil {
      return .ok("linger", "kistd can run without a session")
    }
    let message = "kistd ends with the last session of this user"
    // On a desktop this is normal.
    let isAtDesk = ["x11", "wayland"].contains(environment("XDG_SESSION_TYPE") ?? "")
    return isAtDesk
      ? .ok("linger", message)
      : .note("linger", message, hint: "on a server, keep it running: `loginctl enable-linger`")
  }
}
