internal import KistCore

/// Reads a `.netrc`: netrc(5) of ftp, and curl's manual, "netrc".
///
/// A word may be in double quotes, with backslashes before literal characters. A `#` begins a
/// comment only where a keyword may be. The service is the host after `machine`.
func netrcCredentials(in text: Secret) throws(StorageError) -> ForeignCredentials {
  var words = NetrcWords(text)
  var file = ForeignCredentials()
  var entry: NetrcEntry?
  while let (keyword, line) = try words.next(isKeyword: true) {
    switch netrcKeywords.first(where: keyword.isWord) {
    case "machine":
      try entry?.add(to: &file)
      entry = NetrcEntry(host: try words.text(after: "machine"), line: line)
    case "default":
      try entry?.add(to: &file)
      entry = NetrcEntry(host: nil, line: line)
    case "macdef":
      _ = try words.value(after: "macdef")
      words.skipMacro()
      file.leaveOut(.macro, at: line)
    case "login" where entry != nil: entry?.login = try words.text(after: "login")
    case "password" where entry != nil: entry?.password = try words.value(after: "password")
    case "account" where entry != nil:
      _ = try words.value(after: "account")
      file.leaveOut(.furtherFields, at: line)
    default: throw .unreadable("a word is not a keyword here", line: line)
    }
  }
  try entry?.add(to: &file)
  return file
}

private let netrcKeywords = ["machine", "default", "login", "password", "account", "macdef"]

private struct NetrcEntry {
  let host: String?
  let line: Int
  var login = ""
  var password: Secret?

  func add(to file: inout ForeignCredentials) throws(StorageError) {
    guard let host else { return file.leaveOut(.ofNoHost, at: line) }
    guard let password else { return file.leaveOut(.withoutPassword, at: line) }
    // Host names are case-insensitive (RFC 4343), and tools ask for the usual form.
    let key = CredentialKey(service: host.lowercased(), account: login)
    try file.add(NewCredential(key: key, secret: password), at: line)
  }
}

private struct NetrcWords {
  private let text: Secret
  private var offset: Int
  private var line = 1

  init(_ text: Secret) {
    self.text = text
    offset = text.withBytes { $0.afterByteOrderMark }
  }

  mutating func next(isKeyword: Bool) throws(StorageError) -> (word: Secret, line: Int)? {
    let text = text
    let word = try text.withBytes { (bytes) throws(StorageError) in
      try nextWord(in: bytes, isKeyword: isKeyword)
    }
    return word.map { ($0, line) }
  }

  private mutating func nextWord(
    in bytes: Span<UInt8>, isKeyword: Bool
  ) throws(StorageError) -> Secret? {
    while offset < bytes.count {
      if isKeyword, bytes[offset] == UInt8(ascii: "#") {
        offset = bytes.firstOffset(of: UInt8(ascii: "\n"), from: offset) ?? bytes.count
      } else if isSpace(bytes[offset]) {
        if bytes[offset] == UInt8(ascii: "\n") { line += 1 }
        offset += 1
      } else {
        break
      }
    }
    guard offset < bytes.count else { return nil }
    var word = WipedBytes()
    let isQuoted = bytes[offset] == UInt8(ascii: "\"")
    if isQuoted { offset += 1 }
    while offset < bytes.count {
      let byte = bytes[offset]
      if isQuoted ? byte == UInt8(ascii: "\"") : isSpace(byte) {
        if isQuoted { offset += 1 }
        return Secret(word)
      }
      if isQuoted, byte == UInt8(ascii: "\n") { break }
      if isQuoted, byte == UInt8(ascii: "\\"), offset + 1 < bytes.count {
        offset += 1
        word.append(escaped[Unicode.Scalar(bytes[offset])] ?? bytes[offset])
      } else {
        word.append(byte)
      }
      offset += 1
    }
    if isQuoted { throw .unreadable("a quote is not closed", line: line) }
    return Secret(word)
  }

  mutating func value(after keyword: String) throws(StorageError) -> Secret {
    let start = line
    guard let (word, _) = try next(isKeyword: false) else {
      throw .unreadable("nothing follows `\(keyword)`", line: start)
    }
    return word
  }

  mutating func text(after keyword: String) throws(StorageError) -> String {
    try value(after: keyword).text(of: "the text after `\(keyword)`", line: line)
  }

  /// Skips to the blank line that ends a macro, or to the end.
  mutating func skipMacro() {
    text.withBytes { bytes in
      var isBlank = false
      while offset < bytes.count {
        let byte = bytes[offset]
        offset += 1
        guard byte == UInt8(ascii: "\n") else {
          if byte != UInt8(ascii: "\r") { isBlank = false }
          continue
        }
        line += 1
        if isBlank { return }
        isBlank = true
      }
    }
  }
}

private let escaped: [Unicode.Scalar: UInt8] = ["n": 0x0A, "r": 0x0D, "t": 0x09]
