internal import KistCore
internal import KistJSON

/// Reads docker's `config.json` or podman's `auth.json`: docker-login(1), containers-auth.json(5).
///
/// Credentials get the same names as if docker had stored them with kist.
func dockerCredentials(in text: Secret) throws(StorageError) -> ForeignCredentials {
  var file = ForeignCredentials(countedBy: "entry")
  let logins = try readJSON(text) { (object) throws(JSONError) in
    var logins: [NewCredential?] = []
    for (url, value) in try object.object("auths")?.members(as: "auths") ?? [] {
      logins.append(try login(to: url, value.object()))
    }
    return logins
  }
  for (index, login) in logins.enumerated() {
    if let login {
      try file.add(login, at: index + 1)
    } else {
      file.leaveOut(.keptElsewhere, at: index + 1)
    }
  }
  return file
}

/// Returns the login of an entry; `nil` for an entry without a secret.
private func login(to registry: String, _ entry: JSONObject) throws(JSONError) -> NewCredential? {
  if let token = try entry.secret("identitytoken") { return .ofDocker(registry, "<token>", token) }
  if let value = entry["auth"], try entry.text("auth") != nil {
    let pair = try value.base64()
    let colon = pair.withBytes { $0.firstOffset(of: UInt8(ascii: ":"), from: 0) }
    guard let colon, let username = pair.part(0..<colon).validText else {
      throw value.error("is not a user, a colon and a password")
    }
    return .ofDocker(registry, username, pair.part(colon + 1..<pair.count))
  }
  guard let username = try entry.text("username"), let password = try entry.secret("password")
  else { return nil }
  return .ofDocker(registry, username, password)
}
