internal import Glibc
internal import KistCore
internal import KistSystem
internal import KistWire

/// Returns the error for a path where no process listens, with a hint.
func nothingListening(at path: String) -> StorageError {
  if let status = fileStatus(of: path), !status.isKind(S_IFSOCK) {
    return StorageError(
      .unavailable, "what is at \(path) is not a socket",
      hint: "name kistd's socket with --socket or KIST_SOCKET")
  }
  if let usual = usualSocket(otherThan: path) {
    return StorageError(
      .unavailable, "no kistd is listening at \(path)",
      hint: "one is listening at \(usual): leave out --socket and KIST_SOCKET")
  }
  let command = startCommand(for: path)
  return StorageError(
    .unavailable, "no kistd is listening at \(path)", hint: mayListen(at: path)
      ? "start one with `\(command)`"
        + (command.hasPrefix("systemctl")
          ? "; `journalctl --user -t kistd` says why one ended" : "")
      : "kistd could not listen there either: name a socket in a directory of mode 700 that is "
        + "yours, with --socket or KIST_SOCKET")
}

/// Returns the default socket if it is a different one and this user's kistd listens there.
private func usualSocket(otherThan path: String) -> String? {
  let location = try? SocketLocation.current { name in
    name == "KIST_SOCKET" ? nil : environmentVariable(name)
  }
  guard let usual = location?.path, usual != path,
    (try? Socket(connectingTo: usual, by: .now + .seconds(1))) != nil
  else { return nil }
  return usual
}

/// Whether kistd could listen at a path.
///
/// The directory must be accessible only to this user, or not exist yet and be possible to create.
private func mayListen(at path: String) -> Bool {
  var folder = directory(of: path)
  if let status = fileStatus(of: folder) { return status.isKind(S_IFDIR) && status.isPrivate }
  while fileStatus(of: folder) == nil, folder != directory(of: folder) {
    folder = directory(of: folder)
  }
  return unsafe access(folder + "/.", W_OK | X_OK) == 0
}
