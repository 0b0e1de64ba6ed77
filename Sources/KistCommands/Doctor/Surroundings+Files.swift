internal import KistClient
internal import KistCore

extension Surroundings {
  /// Whom the directories of kist let in, and how much room there is.
  func fileFindings(socket: String) -> [Finding] {
    let data = directory("XDG_DATA_HOME", ".local/share")
    let state = directory("XDG_STATE_HOME", ".local/state")
    var directories = [
      String(socket.prefix(upTo: socket.lastIndex(of: "/") ?? socket.startIndex))
    ]
    for path in [data, state] {
      if let path, !directories.contains(path) { directories.append(path) }
    }
    let faults = directories.compactMap(fault)
    let privacy =
      faults.isEmpty
      ? [Finding(.ok, "files", "their directories let nobody else in")] : faults
    return privacy + [data.flatMap(room)].compactMap { $0 }
  }

  private func fault(of path: String) -> Finding? {
    guard let directory = file(path) else { return nil }
    if directory.owner != uid {
      return Finding(
        .problem(.denied), "files", "\(path) belongs to another user",
        hint: "move it away, or ask its owner or the administrator to")
    }
    guard directory.mode & 0o077 != 0 else { return nil }
    return Finding(
      .note, "files", "\(path) lets other users in",
      hint: "close it: chmod 700 \(shellQuoted(path))")
  }

  /// Of a directory that is not there yet, the nearest one above it tells.
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
        .problem(.full), "disk", message, hint: "make room; a save may be refused as full")
    }
    guard free < 64 << 20 else { return Finding(.ok, "disk", message) }
    return Finding(.note, "disk", message, hint: "make room before saves are refused as full")
  }
}
