internal import KistCore
internal import KistSystem

extension Surroundings {
  /// Whom the directories of kist let in, and how much room there is; of the directories that kistd has
  /// without options.
  func fileFindings(socket: String) -> [Finding] {
    let data = value("KISTD_DATA") ?? kistDirectory("XDG_DATA_HOME", ".local/share")
    let key =
      value("KISTD_KEY_FILE").map(directory(of:)) ?? kistDirectory("XDG_STATE_HOME", ".local/state")
    var directories: [String] = []
    for path in [directory(of: socket), data, key] {
      if let path, file(path) != nil, !directories.contains(path) { directories.append(path) }
    }
    let faults = directories.compactMap(fault)
    return (faults.isEmpty ? [privacy(of: directories)] : faults)
      + [data.flatMap(room)].compactMap { $0 }
  }

  private func value(_ name: String) -> String? {
    environment(name).flatMap { $0.isEmpty ? nil : $0 }
  }

  private func privacy(of directories: [String]) -> Finding {
    let message =
      directories.isEmpty
      ? "there are no directories of kist yet"
      : "nobody else is let into " + directories.joined(separator: ", ")
    return Finding(.ok, "files", message)
  }

  private func fault(of path: String) -> Finding? {
    guard let directory = file(path) else { return nil }
    // Others may need another one as it is, be it /tmp or /.
    let isKists = path.split(separator: "/").last == "kist"
    let useAnother = "use one that is yours alone, of mode 700"
    if directory.owner != uid {
      return Finding(
        .problem(.denied), "files", "\(path) belongs to another user",
        hint: isKists ? "move it away, or ask its owner or the administrator to" : useAnother)
    }
    guard directory.mode & 0o077 != 0 else { return nil }
    return Finding(
      .note, "files", "\(path) lets other users in",
      hint: isKists ? "close it: `chmod 700 \(shellQuoted(path))`" : useAnother)
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
