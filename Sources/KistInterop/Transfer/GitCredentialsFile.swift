internal import KistCore

/// Reads the file of git's own helper: git-credential-store(1).
///
/// Each line is a URL with user and password. Lines that git ignores are ignored. Credentials get
/// the same names as if git had stored them with kist.
func gitStoreCredentials(in text: Secret) throws(StorageError) -> ForeignCredentials {
  var file = ForeignCredentials(firstIsTaken: true)
  var (hasURL, firstOther) = (false, nil as Int?)
  try text.forEachLine { (line, number) throws(StorageError) in
    guard !line.isEmpty, line[0] != UInt8(ascii: "#") else { return }
    let parts = URLParts(line)
    guard let scheme = parts.scheme else {
      firstOther = firstOther ?? number
      return file.leaveOut(.notALogin, at: number)
    }
    hasURL = true
    guard let user = parts.user, let password = parts.password else {
      return file.leaveOut(.withoutPassword, at: number)
    }
    var message = GitMessage()
    message.scheme = try urlText(line.extracting(scheme), number)
    message.host = try urlText(line.extracting(parts.host), number)
    message.username = try urlText(line.extracting(user), number)
    message.password = percentDecoded(line.extracting(password))
    let path = withoutOuterSlashes(try urlText(line.extracting(parts.path), number))
    if !path.isEmpty { message.path = path }
    guard let credential = message.newCredential else {
      return file.leaveOut(.withoutPassword, at: number)
    }
    try file.add(credential, at: number)
  }
  if !hasURL, let line = firstOther {
    throw .unreadable("not a URL", line: line)
  }
  return file
}

/// Returns the text without the slashes at both ends, as git treats a path.
///
/// Removing them one by one would move the rest each time.
private func withoutOuterSlashes(_ text: String) -> String {
  let slash = UInt8(ascii: "/")
  let rest = text.utf8.drop { $0 == slash }
  guard let last = rest.lastIndex(where: { $0 != slash }) else { return "" }
  return String(Substring(rest[...last]))
}

private func urlText(_ part: Span<UInt8>, _ line: Int) throws(StorageError) -> String {
  try percentDecoded(part).text(of: "a part of the URL", line: line)
}
