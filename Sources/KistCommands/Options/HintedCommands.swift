internal import KistSystem

/// The same hint for who named a socket: without that, its commands would ask another kistd, or find none.
func hint(_ hint: String?, over socket: String?) -> String? {
  guard let hint, let socket else { return hint }
  let parts = hint.split(separator: "`", omittingEmptySubsequences: false)
  return parts.indices.map { index in
    let isCommand = !index.isMultiple(of: 2) && asksKistd(parts[index])
    return isCommand ? "\(parts[index]) --socket \(shellQuoted(socket))" : String(parts[index])
  }.joined(separator: "`")
}

/// The socket that is named on a command line, of which the rest may be wrong; the last one counts.
func namedSocket(in words: ArraySlice<String>) -> String? {
  guard let last = words.lastIndex(where: { $0 == "--socket" || $0.hasPrefix("--socket=") }) else {
    return nil
  }
  return words[last] == "--socket"
    ? words[last...].dropFirst().first : String(words[last].dropFirst("--socket=".count))
}

/// Whether it is a command of kist that asks kistd, and takes an option at its end.
private func asksKistd(_ line: Substring) -> Bool {
  let words = line.split(separator: " ").map(String.init)
  return words.first == "kist"
    && command(named: commandNames(in: Array(words.dropFirst()))) is any AsksKistd.Type
    && !words.contains { ["--help", "--"].contains($0) }
}
