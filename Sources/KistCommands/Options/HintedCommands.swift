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

/// The socket that is named on a command line, of which the rest may be wrong.
func namedSocket(in words: ArraySlice<String>) -> String? {
  if let option = words.last(where: { $0.hasPrefix("--socket=") }) {
    return String(option.dropFirst("--socket=".count))
  }
  return words.lastIndex(of: "--socket").flatMap {
    words.dropFirst($0 + 1 - words.startIndex).first
  }
}

private func asksKistd(_ command: Substring) -> Bool {
  let words = command.split(separator: " ")
  return words.count > 1 && words[0] == "kist"
    && !words.contains { ["help", "--help", "--"].contains($0) }
}
