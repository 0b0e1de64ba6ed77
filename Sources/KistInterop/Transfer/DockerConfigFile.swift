internal import KistCore
internal import KistJSON

/// Reads docker's `config.json` or podman's `auth.json`: docker-login(1), containers-auth.json(5).
///
/// Credentials get the same names as if docker had stored them with kist. The user `<token>` has an
/// identity token.
func dockerCredentials(in text: Secret) throws(StorageError) -> ForeignCredentials {
  var file = ForeignCredentials(countedBy: "entry")
  let logins = try readJSON(text) { (object) throws(JSONError) in
    var logins: [DockerCredential?] = []
    guard let registries = try object.object("auths") else { return logins }
    for (url, value) in try registries.members(as: "auths") {
      logins.append(try login(to: DockerRegistry(url: url), value.object()))
    }
    return logins
  }
  for (index, login) in logins.enumerated() {
    if let login {
      try file.add(login.newCredential, at: index + 1)
    } else {
      file.leaveOut(.keptElsewhere, at: index + 1)
    }
  }
  return file
}

/// Returns the login of an entry; `nil` for an entry without a secret.
private func login(
  to registry: DockerRegistry, _ entry: JSONObject
) throws(JSONError) -> DockerCredential? {
  if let token = try entry.secret("identitytoken") {
    return DockerCredential(registry: registry, username: "<token>", secret: token)
  }
  if let value = entry["auth"], try entry.text("auth") != nil {
    let pair = try value.base64()
    let colon = pair.withBytes { $0.firstOffset(of: UInt8(ascii: ":"), from: 0) }
    guard let colon, let username = pair.part(0..<colon).validText else {
      throw value.error("is not a user, a colon and a password")
    }
    return DockerCredential(
      registry: registry, username: username, secret: pair.part(colon + 1..<pair.count))
  }
  guard let username = try entry.text("username"), let password = try entry.secret("password")
  else { return nil }
  return DockerCredential(registry: registry, username: username, secret: password)
}
