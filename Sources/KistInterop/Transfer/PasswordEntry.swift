internal import KistCore
internal import KistJSON

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
  /// The service is the host of its URL, or its title without such a host. The account is its user.
  func add(to file: inout ForeignCredentials, at place: Int) throws(StorageError) {
    guard !isArchived else { return file.leaveOut(.archived, at: place) }
    guard let password else { return file.leaveOut(.withoutPassword, at: place) }
    let service = url.flatMap(host(ofURL:)) ?? title ?? ""
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
