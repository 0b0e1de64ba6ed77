internal import KistCore
internal import KistJSON

extension Operation where Input == SaveRequest, Output == CredentialSummary {
  /// Saves a credential, and replaces the one with the same key.
  static var save: Self {
    Operation(
      name: "save", effect: .change,
      keys: [
        "service", "account", "secret", "secretBase64", "label", "attributes", "expiresAt",
        "ifRevision",
      ],
      names: .key, request: saveRequest, reply: savedCredential)
  }
}

private let saveRequest = Codec<SaveRequest>(
  read: { object throws(JSONError) in
    SaveRequest(credential: try NewCredential(object), condition: try object.saveCondition())
  },
  write: { request, writer throws(StorageError) in
    let credential = request.credential
    writer.members(of: credential.key)
    try writer.member(secret: credential.secret, as: nil)
    writer.member("label", credential.label)
    if !credential.attributes.isEmpty { writer.members(of: credential.attributes) }
    writer.member("expiresAt", credential.expiresAt)
    switch request.condition {
    case .always: break
    case .ifAbsent: writer.memberNull("ifRevision")
    case .ifRevision(let revision): writer.member("ifRevision", revision.rawValue)
    }
  })

private let savedCredential = Codec<CredentialSummary>(
  read: { object throws(JSONError) in
    try CredentialSummary(object.required("credential").object())
  },
  write: { summary, writer in writer.member("credential", object: summary) })

extension JSONObject {
  fileprivate func saveCondition() throws(JSONError) -> Condition {
    guard let value = self["ifRevision"] else { return .always }
    return value.isNull ? .ifAbsent : .ifRevision(try value.revision())
  }
}
