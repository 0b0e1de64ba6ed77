internal import KistSystem

/// Adds `--socket` to the commands in a hint if the user named a socket.
///
/// Without it, these commands would ask another kistd, or find none.
func hint(_ hint: String?, over socket: String?) -> String? {
  guard let hint, let socket else { return hint }
  let parts = hint.split(separator: "`", omittingEmptySubsequences: false)
  return parts.indices.map { index in
    let isCommand = !index.isMultiple(of: 2) && asksKistd(parts[index])
    return isCommand ? "\(parts[index]) --socket \(shellQuoted(socket))" : String(parts[index])
  }.joined(separator: "`")
}

/// Returns the socket on a command line that may contain errors; the last one counts.
func namedSocket(in words: ArraySlice<String>) -> String? {
  guard let last = words.lastIndex(where: { $0 == "--socket" || $0.hasPrefix("--socket=") }) else {
    return nil
  }
  return words[last] == "--socket"
    ? words[last...].dropFirst().first : String(words[last].dropFirst("--socket=".count))
}

/// Whether this is a kist command that asks kistd and accepts an option at its end.
private func asksKistd(_ line: Substring) -> Bool {
  let words = line.split(separator: " ").map(String.init)
  return words.first == "kist"
    && command(named: commandNames(in: Array(words.dropFirst()))) is any AsksKistd.Type
    && !words.contains { ["--help", "--"].contains($0) }
}
