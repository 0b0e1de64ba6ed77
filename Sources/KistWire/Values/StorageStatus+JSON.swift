package import KistCore
package import KistJSON

extension StorageStatus: JSONMembers {
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

  /// Writes the protocol's `status`.
  package func write(to writer: inout JSONWriter) {
    writer.member("storage", storage)
    writer.member("reason", reason)
    writer.member("locked", isLocked)
    writer.member("unlocksWith", unlocksWith?.rawValue)
    writer.member("reopensAtRestart", reopensAtRestart)
    writer.member("durability", durability.rawValue)
    writer.member("keyProtection", keyProtection)
    writer.member("sessionEncrypted", isSessionEncrypted)
    writer.member("keysInRAM", keysInRAM)
    writer.member("integrity", integrity?.rawValue)
    writer.member("count", count)
    writer.memberLimits()
    writer.member("uptime", uptime)
  }
}

extension JSONWriter {
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
