package import KistCore
internal import KistJSON

extension CredentialSummary {
  /// Returns the text of one JSON object: the protocol's `credential`, without a secret.
  package func json() -> Secret { JSONWriter.object { $0.members(of: self) } }

  init(_ object: JSONObject) throws(JSONError) {
    self.init(
      key: try object.credentialKey(), label: try object["label"]?.string(),
      attributes: try object.attributes(),
      createdAt: try object.required("createdAt").timestamp(),
      modifiedAt: try object.required("modifiedAt").timestamp(),
      expiresAt: try object["expiresAt"]?.timestamp(),
      revision: try object.required("revision").revision())
  }
}

extension Credential {
  /// Returns the text of one JSON object: the protocol's `credential`, with its secret.
  package func json() -> Secret {
    JSONWriter.object { writer in
      writer.members(of: summary)
      writer.member(secret: secret)
    }
  }

  init(_ object: JSONObject) throws(JSONError) {
    self.init(summary: try CredentialSummary(object), secret: try object.secret())
  }
}

extension CredentialPage {
  /// Returns the text of one JSON object: `credentials`, and `next` if there are more.
  package func json() -> Secret { JSONWriter.object { $0.members(of: self) } }
}

extension JSONWriter {
  mutating func members(of key: CredentialKey) {
    member("service", key.service)
    member("account", key.account)
  }

  mutating func members(of attributes: Attributes) {
    member("attributes") { writer in
      for (name, value) in attributes.sorted { writer.member(escaping: name, value) }
    }
  }

  mutating func members(of summary: CredentialSummary) {
    members(of: summary.key)
    member("label", summary.label)
    members(of: summary.attributes)
    member("createdAt", summary.createdAt)
    member("modifiedAt", summary.modifiedAt)
    member("expiresAt", summary.expiresAt)
    member("revision", summary.revision.rawValue)
  }

  mutating func members(of page: CredentialPage) {
    member("credentials", objects: page.credentials) { $1.members(of: $0) }
    member("next", page.next)
  }
}

extension JSONWriter {
  /// Writes an array of objects.
  mutating func member<Element>(
    _ name: StaticString, objects: [Element], _ members: (Element, inout JSONWriter) -> Void
  ) {
    member(name, arrayOf: objects) { object, writer in writer.braced { members(object, &$0) } }
  }
}

extension JSONObject {
  /// Reads the elements of an array of objects.
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
}

extension JSONValue {
  func revision() throws(JSONError) -> Revision { Revision(rawValue: try string()) }

  func timestamp() throws(JSONError) -> Timestamp {
    guard let moment = Timestamp(rfc3339: try string()) else {
      throw error("is not a date and time (RFC 3339)")
    }
    return moment
  }
}

extension NewCredential {
  /// Reads the text of one JSON object, as `Credential.json()` writes it.
  ///
  /// Ignores the times of saves and the revision, because the storage sets them itself.
  package init(json text: Secret) throws(StorageError) {
    do throws(JSONError) {
      let object = try JSONObject(text)
      try object.refuseKeys(besides: [
        "service", "account", "secret", "secretBase64", "label", "attributes", "expiresAt",
        "createdAt", "modifiedAt", "revision",
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
