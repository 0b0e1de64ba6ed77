import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `A credential that systemd requests` {
  @Test(arguments: [
    ("68772b1f20da78ac/unit/app.service/dbpass", "app.service", "dbpass"),
    ("0/unit/app@a\\x2db.service/db-password", "app@a\\x2db.service", "db-password"),
    ("0/unit/mnt-data.mount/k", "mnt-data.mount", "k"),
  ])
  func `is named by the address that it connects from`(
    address: String, unit: String, id: String
  ) {
    #expect(
      CredentialRequest(address: Array(address.utf8)) == CredentialRequest(unit: unit, id: id))
  }

  @Test(arguments: [
    "", "unit", "0/unit/app.service", "0/unit/app.service/", "0/unit//id", "0/unit/app/id",
    "0/unit/.service/id", "0/units/app.service/id", "0/unit/app.service/id/more",
    "/unit/app.service/id/", "0/unit/app.service/\u{fffd}", "0/unit/a b.service/id",
    "0/unit/\u{e9}.service/id",
  ])
  func `is nil for any other address`(address: String) {
    // U+FFFD replaces bytes that are not UTF-8.
    let bytes = address.utf8.split(separator: [0xEF, 0xBF, 0xBD]).joined(separator: [0xFF])
    let isBad = address.hasSuffix("\u{fffd}")
    #expect(CredentialRequest(address: Array(bytes) + (isBad ? [0xFF] : [])) == nil)
  }
}
