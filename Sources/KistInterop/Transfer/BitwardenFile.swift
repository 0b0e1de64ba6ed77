internal import KistCore
internal import KistJSON

/// Reads Bitwarden's unencrypted JSON export: Bitwarden, "Condition a Bitwarden .json".
func bitwardenCredentials(in text: Secret) throws(StorageError) -> ForeignCredentials {
  let entries = try readJSON(text) { (object) throws(JSONError) -> [PasswordEntry?]? in
    if try object["encrypted"]?.bool() ?? false { return nil }
    var entries: [PasswordEntry?] = []
    for item in try object.required("items").elements() {
      guard entries.count <= ForeignCredentials.most else { break }
      entries.append(try entry(of: item.object()))
    }
    return entries
  }
  guard let entries else {
    throw StorageError(
      .badRequest, "the file is encrypted",
      hint: "nothing was imported; have Bitwarden export it as .json, not as .json (Encrypted)",
      outcome: .unchanged)
  }
  return try foreignCredentials(entries)
}

/// Returns the imported part of an item; `nil` if it is not a login.
private func entry(of item: JSONObject) throws(JSONError) -> PasswordEntry? {
  guard try item.required("type").integer() == 1, let login = try item.object("login") else {
    return nil
  }
  var entry = PasswordEntry(
    title: try item.text("name"), username: try login.text("username"),
    password: try login.secret("password"))
  for url in try login.objects("uris") { entry.take(try url.secret("uri")) }
  if try item.secret("notes") != nil { entry.leftOut.insert(.note) }
  if try login.secret("totp") != nil { entry.leftOut.insert(.oneTimePassword) }
  if try !login.objects("fido2Credentials").isEmpty { entry.leftOut.insert(.passkey) }
  if try !item.objects("passwordHistory").isEmpty { entry.leftOut.insert(.formerPasswords) }
  if try !item.objects("fields").isEmpty { entry.leftOut.insert(.furtherFields) }
  return entry
}

/// Returns the entries of a JSON file, counted from 1; those that are `nil` are not logins.
func foreignCredentials(_ entries: [PasswordEntry?]) throws(StorageError) -> ForeignCredentials {
  guard entries.count <= ForeignCredentials.most else { throw .tooManyForeign }
  var file = ForeignCredentials(countedBy: "entry")
  for (index, entry) in entries.enumerated() {
    if let entry {
      try entry.add(to: &file, at: index + 1)
    } else {
      file.leaveOut(.notALogin, at: index + 1)
    }
  }
  return file
}
