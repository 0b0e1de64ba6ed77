internal import KistCore
internal import KistJSON

/// Reads the output of `kistd keyring-items`.
///
/// Each line has the attributes of an item and its value in base64, if it has one. A locked item
/// has a note instead. Credentials get the names under which their program would save them in kist.
func keyringCredentials(in text: Secret) throws(StorageError) -> ForeignCredentials {
  var file = ForeignCredentials(countedBy: "item")
  try text.forEachLine { (line, number) throws(StorageError) in
    guard !line.isEmpty else { return }
    let object: JSONObject
    do throws(JSONError) { object = try JSONObject(Secret(copying: line)) } catch {
      throw .unreadable(error.description, line: number)
    }
    // An export of kist also has attributes, but its secrets are elsewhere.
    guard object["service"] == nil else {
      throw .unreadable(
        "it is from an export of kist, which `kist import kist` reads", line: number)
    }
    let credentials: [NewCredential]
    do throws(JSONError) {
      if object["locked"] != nil { return file.leaveOut(.locked, at: number) }
      let attributes = Dictionary(
        try object.required("attributes").strings().map { ($0.name, $0.value) },
        uniquingKeysWith: { $1 })
      guard let value = object["value"] else { return file.leaveOut(.withoutPassword, at: number) }
      credentials = keptCredentials(of: attributes, try value.base64())
    } catch { throw .unreadable(error.description, line: number) }
    if credentials.isEmpty { file.leaveOut(.notALogin, at: number) }
    for credential in credentials { try file.add(credential, at: number) }
  }
  return file
}

/// Returns the credentials in an item; none if it is not in the form that its program uses.
private func keptCredentials(of attributes: [String: String], _ value: Secret) -> [NewCredential] {
  switch attributes["xdg:schema"] {
  // `NetworkPassword`, git's before 2.43, is used by others too: kistd takes only web items.
  case "org.git.Password", "org.gnome.keyring.NetworkPassword":
    return gitCredentials(of: attributes, value)
  case "io.docker.Credentials":
    guard let server = attributes["server"], let user = attributes["username"] else { return [] }
    return [.ofDocker(server, user, value)]
  case "org.rust-lang.cargo.registry":
    guard let url = attributes["url"] else { return [] }
    return [CargoRegistry(indexURL: url, name: nil).newCredential(value)]
  default:
    guard attributes["application"] == "Python keyring library", let service = attributes["service"]
    else { return [] }
    let key = CredentialKey(service: service, account: attributes["username"] ?? "")
    return [.ofKeyring(key, value)]
  }
}

/// Reads the value of git's own helper for libsecret: a password, then lines in git's format.
private func gitCredentials(of attributes: [String: String], _ value: Secret) -> [NewCredential] {
  var message = GitMessage()
  message.scheme = attributes["protocol"]
  let port = attributes["port"].map { ":" + $0 } ?? ""
  message.host = attributes["server"].map { $0 + port }
  message.path = attributes["object"].flatMap { $0.isEmpty ? nil : $0 }
  message.username = attributes["user"]
  value.withBytes { bytes in
    var start = 0
    while start <= bytes.count {
      let end = bytes.firstOffset(of: UInt8(ascii: "\n"), from: start) ?? bytes.count
      message.takeStored(bytes.extracting(start..<end), isFirst: start == 0)
      start = end + 1
    }
  }
  guard let credential = message.newCredential else { return [] }
  return [credential, message.newRefreshToken(beside: credential.key)].compactMap(\.self)
}

extension GitMessage {
  fileprivate mutating func takeStored(_ line: Span<UInt8>, isFirst: Bool) {
    if isFirst { return password = Secret(copying: line) }
    guard let equals = line.firstOffset(of: UInt8(ascii: "="), from: 0) else { return }
    let value = line.extracting((equals + 1)...)
    switch String(validating: line.extracting(..<equals)) {
    case "password_expiry_utc":
      passwordExpiry = String(validating: value).flatMap { Int64($0) }
        .flatMap(Timestamp.init(secondsSinceEpoch:))
    case "oauth_refresh_token": refreshToken = Secret(copying: value)
    default: break
    }
  }
}
