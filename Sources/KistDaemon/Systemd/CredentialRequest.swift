/// A credential that the service manager asks for on behalf of a unit that it starts
/// (systemd.exec(5), `LoadCredential=`).
struct CredentialRequest: Equatable {
  /// The unit.
  var unit: String
  /// The name that the unit gives to the credential.
  var id: String
}

extension CredentialRequest {
  /// Reads the address that the manager connects from, `RANDOM/unit/UNIT/ID`; `nil` where it is
  /// another one.
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

/// The unit that the text of /proc/PID/cgroup places a process in (cgroups(7)): the innermost one,
/// since a unit may have groups of its own.
func unit(ofCgroup text: String) -> String? {
  let line = text.split(separator: "\n").last { $0.hasPrefix("0::/") }
  return line?.dropFirst("0::/".count).split(separator: "/").last { isUnit($0) }.map(String.init)
}

/// Whether a name is that of a unit that processes run in (systemd.unit(5)).
private func isUnit(_ name: some StringProtocol) -> Bool {
  [".service", ".scope", ".socket", ".mount", ".swap"].contains { suffix in
    name.hasSuffix(suffix) && name != suffix
  }
}
