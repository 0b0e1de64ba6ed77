internal import KistCore
internal import KistJSON

/// Reads a JSON object of another program's; an error says in which line, or what is not as it must be.
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
  /// The string of a key; `nil` where it is not there, `null` or empty.
  func text(_ name: StaticString) throws(JSONError) -> String? {
    guard let value = self[name], !value.isNull else { return nil }
    let text = try value.string()
    return text.isEmpty ? nil : text
  }

  /// The bytes of a string; `nil` where it is not there, `null` or empty.
  func secret(_ name: StaticString) throws(JSONError) -> Secret? {
    guard let value = self[name], !value.isNull else { return nil }
    let secret = try value.secret()
    return secret.isEmpty ? nil : secret
  }

  /// The object of a key; `nil` where it is not there, or `null`.
  func object(_ name: StaticString) throws(JSONError) -> JSONObject? {
    guard let value = self[name], !value.isNull else { return nil }
    return try value.object()
  }

  /// The objects of an array; none where it is not there, or `null`.
  func objects(_ name: StaticString) throws(JSONError) -> [JSONObject] {
    guard let value = self[name], !value.isNull else { return [] }
    var objects: [JSONObject] = []
    for element in try value.elements() { objects.append(try element.object()) }
    return objects
  }
}
