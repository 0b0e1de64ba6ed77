package import KistCore
internal import KistJSON

extension StorageStatus {
  /// Returns the text of one JSON object: the protocol's `status`.
  package func json() -> Secret { JSONWriter.object { $0.members(of: self) } }

  init(_ object: JSONObject) throws(JSONError) {
    self.init(
      storage: try object.required("storage").string(), reason: try object["reason"]?.string(),
      isLocked: try object.required("locked").bool(),
      unlocksWith: (try object["unlocksWith"]?.string()).map(Unlocking.init),
      reopensAtRestart: try object.required("reopensAtRestart").bool(),
      durability: Durability(rawValue: try object.required("durability").string()),
      keyProtection: try object.required("keyProtection").string(),
      isSessionEncrypted: try object["sessionEncrypted"]?.bool(),
      keysInRAM: try object["keysInRAM"]?.bool(),
      integrity: (try object["integrity"]?.string()).map(Integrity.init),
      count: try object["count"]?.integer(),
      uptime: try object["uptime"]?.integer())
  }
}

extension JSONWriter {
  mutating func members(of status: StorageStatus) {
    member("storage", status.storage)
    member("reason", status.reason)
    member("locked", status.isLocked)
    member("unlocksWith", status.unlocksWith?.rawValue)
    member("reopensAtRestart", status.reopensAtRestart)
    member("durability", status.durability.rawValue)
    member("keyProtection", status.keyProtection)
    if let isEncrypted = status.isSessionEncrypted { member("sessionEncrypted", isEncrypted) }
    member("keysInRAM", status.keysInRAM)
    member("integrity", status.integrity?.rawValue)
    member("count", status.count)
    memberLimits()
    member("uptime", status.uptime)
  }

  /// Writes the limits, which version 1 of the protocol fixes.
  ///
  /// They are for users and other clients; kist's own clients do not read them.
  mutating func memberLimits() {
    member("limits") { writer in
      writer.member("line", Limits.line)
      writer.member("secret", Limits.secret)
      writer.member("service", Limits.keyPart)
      writer.member("account", Limits.keyPart)
      writer.member("label", Limits.label)
      writer.member("attributes", Limits.attributes)
      writer.member("attributeName", Limits.attributeName)
      writer.member("attributeValue", Limits.attributeValue)
      writer.member("attributesTotal", Limits.attributesTotal)
      writer.member("page", Limits.page)
      writer.member("passphrase", Limits.passphrase)
    }
  }
}
