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
  guard let item = KnownItem(attributes) else { return [] }
  switch item.program {
  case .git: return gitCredentials(of: attributes, value)
  case .cargo:
    return [CargoRegistry(indexURL: attributes["url"] ?? "", name: nil).newCredential(value)]
  case .docker: return [.ofDocker(item.key.service, item.key.account, value)]
  case .pythonKeyring: return [.ofKeyring(item.key, value)]
  case .goKeyring, .kist: return [NewCredential(key: item.key, secret: value)]
  }
}

private func gitCredentials(of attributes: [String: String], _ value: Secret) -> [NewCredential] {
  var message = GitMessage(attributesOfItem: attributes)
  message.takeValue(ofItem: value)
  guard let credential = message.newCredential else { return [] }
  return [credential, message.newRefreshToken(beside: credential.key)].compactMap(\.self)
}
