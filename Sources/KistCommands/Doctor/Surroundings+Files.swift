internal import KistCore
internal import KistSystem

extension Surroundings {
  /// Checks who can enter kist's directories, and the free disk space.
  ///
  /// It looks at the directories that kistd uses without options.
  func fileFindings(socket: String) -> [Finding] {
    let data = value("KISTD_DATA") ?? kistDirectory("XDG_DATA_HOME", ".local/share")
    let key = keyFile.map(directory(of:))
    var directories: [String] = []
    for path in [directory(of: socket), data, key] {
      if let path, file(path) != nil, !directories.contains(path) { directories.append(path) }
    }
    let faults = directories.compactMap(fault)
    return (faults.isEmpty ? [privacy(of: directories)] : faults)
      + [data.flatMap(room)].compactMap { $0 } + (keyFile.map(formerKeys) ?? [])
  }

  /// Returns the keys that `kistd rekey` kept; only the user knows when they are no longer needed.
  private func formerKeys(of key: String) -> [Finding] {
    let folder = key.lastIndex(of: "/").map { key[...$0] } ?? ""
    return names(directory(of: key)).map { folder + $0 }.filter { $0.hasPrefix("\(key).before-") }
      .sorted()
      .map { path in
        Finding(
          .note, "former key",
          "\(path) opens copies of the store from before a `kistd rekey`, and other stores "
            + "that were made with it",
          hint: "keep it for these; where there are none, `rm \(shellQuoted(path))`")
      }
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
    // Other directories, such as /tmp or /, may be shared, so the hint must not change them.
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
        .problem(.full), "disk", message, hint: "free some space; a save may be refused as full")
    }
    guard free < 64 << 20 else { return Finding(.ok, "disk", message) }
    return Finding(.note, "disk", message, hint: "free some space before saves are refused as full")
  }
}
