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
      revision: Revision(rawValue: try object.required("revision").string()))
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
    member("credentials", arrayOf: page.credentials) { summary, writer in
      writer.braced { $0.members(of: summary) }
    }
    member("next", page.next)
  }
}

extension JSONObject {
  func credentialKey() throws(JSONError) -> CredentialKey {
    CredentialKey(
      service: try required("service").string(), account: try self["account"]?.string() ?? "")
  }

  func attributes() throws(JSONError) -> Attributes {
    var attributes = Attributes()
    guard let value = self["attributes"] else { return attributes }
    for (name, text) in try value.strings() { attributes[name] = text }
    return attributes
  }
}

extension JSONValue {
  func timestamp() throws(JSONError) -> Timestamp {
    guard let moment = Timestamp(rfc3339: try string()) else {
      throw error("is not a date and time (RFC 3339)")
    }
    return moment
  }
}
