package import KistCore
internal import KistJSON

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
