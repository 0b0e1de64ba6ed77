internal import KistCore
internal import KistJSON

/// Reads Bitwarden's unencrypted JSON export: Bitwarden, "Condition a Bitwarden .json".
func bitwardenCredentials(in text: Secret) throws(StorageError) -> ForeignCredentials {
  let entries = try readJSON(text) { (object) throws(JSONError) -> [PasswordEntry?]? in
    if try object["encrypted"]?.bool() ?? false { return nil }
    var entries: [PasswordEntry?] = []
    for item in try object.required("items").elements() {
      guard entries.count <= ForeignCredentials.most else { break }
      entries.append(try bitwardenEntry(of: item.object()))
    }
    return entries
  }
  guard let entries else {
    throw .refused(
      "the file is encrypted",
      hint: "nothing was imported; have Bitwarden export it as .json, not as .json (Encrypted)")
  }
  return try foreignCredentials(entries)
}

/// Returns the imported part of an item; `nil` if it is not a login.
private func bitwardenEntry(of item: JSONObject) throws(JSONError) -> PasswordEntry? {
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

/// Reads the `export.data` of a 1Password export, which is a ZIP file: 1Password, "1PUX format".
func onePasswordCredentials(in text: Secret) throws(StorageError) -> ForeignCredentials {
  let entries = try readJSON(text) { (object) throws(JSONError) in
    var entries: [PasswordEntry?] = []
    for account in try object.required("accounts").elements() {
      for vault in try account.object().objects("vaults") {
        for item in try vault.objects("items") {
          guard entries.count <= ForeignCredentials.most else { return entries }
          // Earlier versions put each item into an object of its own.
          let inner = try item.object("item")
          entries.append(try onePasswordEntry(of: inner ?? item))
        }
      }
    }
    return entries
  }
  return try foreignCredentials(entries)
}

/// Returns the imported part of an item; `nil` if it is neither a login nor a password.
private func onePasswordEntry(of item: JSONObject) throws(JSONError) -> PasswordEntry? {
  guard let details = try item.object("details"), let overview = try item.object("overview")
  else { return nil }
  var entry = PasswordEntry(
    title: try overview.text("title"), url: try overview.secret("url"),
    password: try details.secret("password"))
  for url in try overview.objects("urls") { entry.take(try url.secret("url")) }
  for field in try details.objects("loginFields") {
    switch try field.text("designation") {
    case "username": entry.username = try field.text("value")
    case "password": entry.password = try field.secret("value")
    default: break
    }
  }
  let isLogin = ["001", "005"].contains(try item.text("categoryUuid") ?? "001")
  guard isLogin || entry.password != nil else { return nil }
  entry.isArchived = try item.text("state") == "archived"
  if try details.secret("notesPlain") != nil { entry.leftOut.insert(.note) }
  if try !details.objects("passwordHistory").isEmpty { entry.leftOut.insert(.formerPasswords) }
  entry.leftOut.formUnion(try furtherFields(of: details))
  return entry
}

private func furtherFields(of details: JSONObject) throws(JSONError) -> Set<LeftOut> {
  var leftOut: Set<LeftOut> = []
  for section in try details.objects("sections") {
    for field in try section.objects("fields") {
      let isSeed = try field.object("value")?["totp"] != nil
      leftOut.insert(isSeed ? .oneTimePassword : .furtherFields)
    }
  }
  return leftOut
}

struct PasswordEntry {
  var title: String?
  /// A secret, because the user may have put a password into it.
  var url: Secret?
  var username: String?
  var password: Secret?
  var leftOut: Set<LeftOut> = []
  var isArchived = false

  /// Takes the first URL; records that further ones are left out.
  mutating func take(_ url: Secret?) {
    guard let url else { return }
    if self.url == nil { self.url = url }
    if url != self.url { leftOut.insert(.furtherURLs) }
  }

  /// Adds it to a file's credentials.
  ///
  /// The service is the host of the URL, after `http://` for such a URL, as git asks for it. It is
  /// the title if there is no host. The account is the user.
  func add(to file: inout ForeignCredentials, at place: Int) throws(StorageError) {
    guard !isArchived else { return file.leaveOut(.archived, at: place) }
    guard let password else { return file.leaveOut(.withoutPassword, at: place) }
    let service = url.flatMap(service(ofURL:)) ?? title ?? ""
    try file.add(
      NewCredential(
        key: CredentialKey(service: service, account: username ?? ""), secret: password,
        label: title),
      at: place)
    for what in leftOut { file.leaveOut(what, at: place) }
  }
}

/// Reads a JSON object of another program; errors contain the line or the problem.
func readJSON<Result>(
  _ text: Secret, _ body: (JSONObject) throws(JSONError) -> Result
) throws(StorageError) -> Result {
  let start = text.withBytes { $0.afterByteOrderMark }
  let text = start == 0 ? text : text.part(start..<text.count)
  do throws(JSONError) { return try body(JSONObject(text)) } catch {
    switch error {
    case .byte(let offset, let problem):
      throw .unreadable(problem, line: text.withBytes { $0.line(at: offset) })
    case .key: throw .unreadable(error.description)
    }
  }
}

extension JSONObject {
  /// Returns the string of a key; `nil` if it is missing, `null` or empty.
  func text(_ name: StaticString) throws(JSONError) -> String? {
    guard let value = self[name], !value.isNull else { return nil }
    let text = try value.string()
    return text.isEmpty ? nil : text
  }

  /// Returns the bytes of a string; `nil` if it is missing, `null` or empty.
  func secret(_ name: StaticString) throws(JSONError) -> Secret? {
    guard let value = self[name], !value.isNull else { return nil }
    let secret = try value.secret()
    return secret.isEmpty ? nil : secret
  }

  /// Returns the object of a key; `nil` if it is missing or `null`.
  func object(_ name: StaticString) throws(JSONError) -> JSONObject? {
    guard let value = self[name], !value.isNull else { return nil }
    return try value.object()
  }

  /// Returns the objects of an array; none if it is missing or `null`.
  func objects(_ name: StaticString) throws(JSONError) -> [JSONObject] {
    guard let value = self[name], !value.isNull else { return [] }
    var objects: [JSONObject] = []
    for element in try value.elements() { objects.append(try element.object()) }
    return objects
  }
}
