internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistWire

/// The command that shows the log of kistd, and why systemd could not start it.
///
/// systemd logs with the second name while it prepares the process.
package let readJournal = "journalctl --user -t kistd -t '(kistd)'"

/// Returns the error for a path where no process listens, with a hint.
func nothingListening(at path: String) -> StorageError {
  if let error = StorageError.foreignRuntimeDirectory(of: path) { return error }
  if let status = fileStatus(of: path), !status.isKind(S_IFSOCK) {
    return StorageError(
      .unavailable, "\(path) is not a socket",
      hint: "name kistd's socket with --socket or KIST_SOCKET")
  }
  if isSocketOfCommand(path), let remedy = remedyAfterCommand(at: path) {
    return StorageError(
      .unavailable, "no kistd is listening at \(path)",
      hint: "\(remedy); for another kistd, `unset KIST_SOCKET`")
  }
  if let usual = usualSocket(otherThan: path) {
    return StorageError(
      .unavailable, "no kistd is listening at \(path)",
      hint: "kistd is listening at \(usual): leave out --socket and KIST_SOCKET")
  }
  let command = startCommand(for: path)
  return StorageError(
    .unavailable, "no kistd is listening at \(path)",
    hint: mayListen(at: path)
      ? "start one with `\(command)`"
        + (command.hasPrefix("systemctl")
          ? "; if that fails, `\(readJournal)` shows why; after you have mended it: "
            + "`systemctl --user reset-failed 'kistd*'`"
          : environmentVariable("KIST_AUTOSTART") == "0"
            ? "; or run this command with `kistd --data DIRECTORY -- COMMAND`" : "")
      : remedy(forMissingRuntimeDirectoryOf: path, environment: environmentVariable)
        ?? "kistd cannot listen there: name a socket in a directory of your own with mode 700, "
        + "with --socket or KIST_SOCKET")
}

extension StorageError {
  /// Returns the error for the usual socket in an XDG_RUNTIME_DIR of another user; `nil` for any
  /// other path.
  ///
  /// For example, `su` and `sudo` may keep this variable.
  package static func foreignRuntimeDirectory(
    of path: String, environment: (String) -> String? = environmentVariable
  ) -> StorageError? {
    guard let directory = environment("XDG_RUNTIME_DIR"), directory.hasPrefix("/"),
      path == directory.appendingPath("kist/kist.sock"), belongsToAnotherUser(directory)
    else { return nil }
    return StorageError(
      .denied, "XDG_RUNTIME_DIR names \(directory), which belongs to another user",
      hint: "do without it: `unset XDG_RUNTIME_DIR`")
  }
}

private func belongsToAnotherUser(_ directory: String) -> Bool {
  guard let status = fileStatus(of: directory) else { return errno == EACCES }
  return status.st_uid != geteuid()
}

/// Returns the advice for a socket of a `kistd -- COMMAND` that has ended.
///
/// kistd removes the directory at its end. If kistd is killed, the directory and the socket stay.
private func remedyAfterCommand(at path: String) -> String? {
  if fileStatus(of: path) != nil {
    return
      "the kistd that ran this command was ended before it: run the command again with "
      + "`kistd -- COMMAND`"
  }
  guard fileStatus(of: directory(of: path)) == nil else { return nil }
  return
    "the `kistd -- COMMAND` that served there has ended: let COMMAND wait for all its processes"
}

/// Whether `kistd -- COMMAND` chose a path.
///
/// A kistd that someone starts at this path would serve another store.
private func isSocketOfCommand(_ path: String) -> Bool {
  let folder = directory(of: path)
  let prefix = directory(of: folder).appendingPath("kist-")
  // mkdtemp(3) ends the name with six letters and digits.
  return environmentVariable("KIST_SOCKET") == path && path.hasSuffix("/kist.sock")
    && folder.hasPrefix(prefix) && folder.utf8.count == prefix.utf8.count + 6
}

/// Returns the default socket if it is a different one and this user's kistd listens there.
private func usualSocket(otherThan path: String) -> String? {
  guard let usual = (try? SocketLocation.usual())?.path, usual != path, isListening(at: usual)
  else { return nil }
  return usual
}

/// Whether kistd could listen at a path.
///
/// The directory must be accessible only to this user. If it does not exist, this user must be able
/// to create it.
private func mayListen(at path: String) -> Bool {
  var folder = directory(of: path)
  if let status = fileStatus(of: folder) { return status.isKind(S_IFDIR) && status.isPrivate }
  while fileStatus(of: folder) == nil, folder != directory(of: folder) {
    folder = directory(of: folder)
  }
  return unsafe access(folder + "/.", W_OK | X_OK) == 0
}

/// Returns the command that starts a kistd that listens at a path.
///
/// The systemd unit listens only at the default path. So the command starts the unit only if the
/// path is the default, and if the machine runs systemd (sd_booted(3)). If KIST_SOCKET is set, the
/// command contains the path, because the variable may be missing in the shell where the user runs
/// the command.
package func startCommand(
  for path: String, environment: (String) -> String? = environmentVariable,
  exists: (String) -> Bool = { unsafe access($0, F_OK) == 0 }
) -> String {
  guard (environment("KIST_SOCKET") ?? "").isEmpty,
    (try? SocketLocation.current(environment: environment))?.path == path
  else {
    return "kistd --detach --socket \(shellQuoted(path))"
  }
  let home = environment("HOME") ?? ""
  let unitFolders = [
    (environment("XDG_CONFIG_HOME") ?? home + "/.config") + "/systemd/user",
    (environment("XDG_DATA_HOME") ?? home + "/.local/share") + "/systemd/user",
    "/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user",
  ]
  let isInstalled =
    exists("/run/systemd/system") && unitFolders.contains { exists($0 + "/kistd.socket") }
  return isInstalled ? "systemctl --user start kistd.socket" : "kistd --detach"
}
