internal import KistCore
internal import KistJSON

/// Reads the output of `kistd keyring-items`.
///
/// Each line has the attributes of an item, its label, and its value in base64, if it has one. A
/// locked item has a mark instead, and an item of an unknown program only its label. The credentials
/// are as the Secret Service adapter would have saved the items, under the names that the helpers of
/// kist use.
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
    let credential: NewCredential?
    do throws(JSONError) {
      if object["locked"] != nil { return file.leaveOut(.locked, at: number) }
      if let label = try object["other"]?.string() {
        return file.leaveOut(.ofUnknownProgram, at: number, named: label)
      }
      guard object["value"] != nil || object["attributes"] == nil else {
        return file.leaveOut(.withoutPassword, at: number)
      }
      credential = try NewCredential(keyringItem: object)
    } catch { throw .unreadable(error.description, line: number) }
    guard let credential else { return file.leaveOut(.notALogin, at: number) }
    try file.add(credential, at: number)
  }
  return file
}

extension NewCredential {
  /// Makes the credential of an item; `nil` if it is not in the form that its program uses.
  fileprivate init?(keyringItem object: JSONObject) throws(JSONError) {
    let attributes = Attributes(lastOf: try object.required("attributes").strings())
    let secret = try object.required("value").base64()
    guard let item = KnownItem(attributes) else { return nil }
    self.init(
      item: attributes, label: try object["label"]?.string() ?? "", secret: secret,
      contentType: try object["contentType"]?.string() ?? Attributes.plainText, key: item.key,
      mark: Attributes.newItemMark())
  }
}
