/// A credential that the service manager requests for a unit that it starts (systemd.exec(5),
/// `LoadCredential=`).
struct CredentialRequest: Equatable {
  /// The name of the unit.
  var unit: String
  /// The name that the unit gives to the credential.
  var id: String
}

extension CredentialRequest {
  /// Parses the address that the manager connects from, `RANDOM/unit/UNIT/ID`.
  ///
  /// Returns `nil` for any other address.
  init?(address: [UInt8]) {
    let parts = address.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard
      parts.count == 4, parts[1].elementsEqual("unit".utf8),
      let unit = String(validating: parts[2], as: UTF8.self), isUnit(unit),
      let id = String(validating: parts[3], as: UTF8.self), !id.isEmpty
    else { return nil }
    self.init(unit: unit, id: id)
  }
}
