package import KistCore
package import KistJSON

/// A value that can be written as members of a JSON object of the line protocol.
package protocol JSONMembers {
  /// Writes the members.
  func write(to writer: inout JSONWriter)
}

extension JSONMembers {
  /// Returns the value as one JSON object, in the form that the line protocol uses.
  package func json() -> Secret { JSONWriter.object { write(to: &$0) } }
}

extension JSONWriter {
  mutating func members(of value: some JSONMembers) { value.write(to: &self) }

  mutating func member(_ name: StaticString, object value: some JSONMembers) {
    member(name) { value.write(to: &$0) }
  }

  mutating func member(_ name: StaticString, objects: [some JSONMembers]) {
    member(name, arrayOf: objects) { object, writer in writer.braced { object.write(to: &$0) } }
  }

  /// Writes a secret as text or in base64.
  ///
  /// It is text if it is UTF-8 without NUL, and its JSON text is not longer than its base64.
  mutating func member(secret: Secret) {
    if let count = secret.withBytes(textCount(of:)), count <= base64Count(of: secret.count) {
      member("secret", text: secret)
    } else {
      member("secretBase64", base64: secret)
    }
  }

  mutating func member(secret: Secret, as encoding: SecretEncoding?) throws(StorageError) {
    switch encoding {
    case nil: member(secret: secret)
    case .base64: member("secretBase64", base64: secret)
    case .text:
      guard secret.withBytes(textCount(of:)) != nil else {
        throw StorageError(
          .badRequest, "the secret is not text", hint: "ask for it with `\"encoding\":\"base64\"`")
      }
      member("secret", text: secret)
    }
  }
}

extension CredentialKey: JSONMembers {
  /// Writes the service and the account.
  package func write(to writer: inout JSONWriter) {
    writer.member("service", service)
    writer.member("account", account)
  }
}

extension Attributes: JSONMembers {
  /// Writes the attributes as one member.
  package func write(to writer: inout JSONWriter) {
    writer.member("attributes") { writer in
      for (name, value) in sorted { writer.member(escaping: name, value) }
    }
  }
}

extension CredentialSummary: JSONMembers {
  init(_ object: JSONObject) throws(JSONError) {
    self.init(
      key: try object.credentialKey(), label: try object["label"]?.string(),
      attributes: try object.attributes(),
      createdAt: try object.required("createdAt").timestamp(),
      modifiedAt: try object.required("modifiedAt").timestamp(),
      expiresAt: try object["expiresAt"]?.timestamp(),
      revision: try object.required("revision").revision())
  }

  /// Writes the members of `credential` in a reply without a secret.
  package func write(to writer: inout JSONWriter) {
    writer.members(of: key)
    writer.member("label", label)
    writer.members(of: attributes)
    writer.member("createdAt", createdAt)
    writer.member("modifiedAt", modifiedAt)
    writer.member("expiresAt", expiresAt)
    writer.member("revision", revision.rawValue)
  }
}

extension Credential: JSONMembers {
  init(_ object: JSONObject) throws(JSONError) {
    self.init(
      summary: try CredentialSummary(object), secret: try object.secret(),
      asOf: try object["asOf"]?.timestamp())
  }

  /// Writes the members of `credential` in the reply to `load`.
  package func write(to writer: inout JSONWriter) {
    writer.members(of: summary)
    writer.member(secret: secret)
    writer.member("asOf", asOf)
  }
}

extension CredentialPage: JSONMembers {
  /// Writes `credentials`, and `next` if there are more.
  package func write(to writer: inout JSONWriter) {
    writer.member("credentials", objects: credentials)
    writer.member("next", next)
  }
}

extension JSONObject {
  func objects<Element>(
    _ name: StaticString, _ read: (JSONObject) throws(JSONError) -> Element
  ) throws(JSONError) -> [Element] {
    try required(name).elements().map { (element) throws(JSONError) in try read(element.object()) }
  }

  func credentialKey() throws(JSONError) -> CredentialKey {
    CredentialKey(
      service: try required("service").string(), account: try self["account"]?.string() ?? "")
  }

  func attributes() throws(JSONError) -> Attributes {
    var attributes = Attributes()
    for (name, text) in try self["attributes"]?.strings() ?? [] { attributes[name] = text }
    return attributes
  }

  /// Returns the bytes of a secret from exactly one of its two encodings.
  func secret() throws(JSONError) -> Secret {
    switch (self["secret"], self["secretBase64"]) {
    case (let text?, nil): try text.secret()
    case (nil, let base64?): try base64.base64()
    case (let text?, _?): throw text.error("cannot be combined with `secretBase64`")
    case (nil, nil): throw .key("secret", "is missing, and so is `secretBase64`")
    }
  }
}

extension JSONValue {
  func revision() throws(JSONError) -> Revision { Revision(rawValue: try string()) }

  func texts() throws(JSONError) -> [String] {
    try elements().map { (element) throws(JSONError) in try element.string() }
  }

  func timestamp() throws(JSONError) -> Timestamp {
    guard let moment = Timestamp(rfc3339: try string()) else {
      throw error("is not a date and time (RFC 3339)")
    }
    return moment
  }

  func seconds() throws(JSONError) -> Int64 {
    let seconds = Int64(try integer())
    guard seconds >= 0 else { throw error("must not be negative") }
    return seconds
  }

  func secretEncoding() throws(JSONError) -> SecretEncoding {
    guard let encoding = SecretEncoding(rawValue: try string()) else {
      throw error("must be `text` or `base64`")
    }
    return encoding
  }
}

extension NewCredential {
  /// Reads the text that `Credential.json()` writes; ignores the revision, and the times except the
  /// expiry.
  package init(json text: Secret) throws(StorageError) {
    do throws(JSONError) {
      let object = try JSONObject(text)
      try object.refuseKeys(except: [
        "service", "account", "secret", "secretBase64", "label", "attributes", "expiresAt",
        "createdAt", "modifiedAt", "revision", "asOf",
      ])
      try self.init(object)
    } catch { throw .badRequest(error.description) }
  }

  init(_ object: JSONObject) throws(JSONError) {
    self.init(
      key: try object.credentialKey(), secret: try object.secret(),
      label: try object["label"]?.string(), attributes: try object.attributes(),
      expiresAt: try object["expiresAt"]?.timestamp())
  }
}

/// The two encodings of a secret in a line: in the member `secret`, or in `secretBase64`.
enum SecretEncoding: String { case text, base64 }
