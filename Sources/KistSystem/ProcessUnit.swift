/// The systemd unit that a process runs in.
package struct ProcessUnit: Equatable {
  package var name: String
  /// The user manager that started the unit, such as `user@1000.service`; `nil` if the system
  /// manager started it.
  package var userManager: String?

  package init(name: String, userManager: String? = nil) {
    self.name = name
    self.userManager = userManager
  }
}

extension ProcessUnit {
  /// Parses the text of /proc/PID/cgroup (cgroups(7)); `nil` if the process is in no unit.
  ///
  /// The unit is the first group below a manager's slices, as in systemd's
  /// `cg_path_get_user_unit()`. Lower groups prove nothing: a unit that manages its own groups can
  /// give them any name.
  package init?(cgroup text: String) {
    let line = text.utf8.split(separator: UInt8(ascii: "\n")).last { $0.starts(with: "0::/".utf8) }
    guard let line else { return nil }
    let groups = line.dropFirst("0::/".utf8.count).split(separator: UInt8(ascii: "/"))
      .map { unescapedGroup(String(Substring($0))) }
    guard let (outer, below) = firstUnit(in: groups[...]) else { return nil }
    if outer.hasPrefix("user@"), outer.hasSuffix(".service"),
      let (inner, _) = firstUnit(in: below)
    {
      self.init(name: inner, userManager: outer)
    } else {
      self.init(name: outer)
    }
  }
}

/// Returns the first group that is not a slice, if it is a unit, and the groups below it.
private func firstUnit(
  in groups: ArraySlice<String>
) -> (name: String, below: ArraySlice<String>)? {
  let rest = groups.drop { isUnitName($0, endingIn: [".slice"]) }
  guard let name = rest.first, isUnit(name) else { return nil }
  return (name, rest.dropFirst())
}

/// Removes the `_` that systemd puts before some names of units: it writes `_memory.service` for
/// `memory.service`, because the kernel's files in a cgroup may have names like `memory.high`.
private func unescapedGroup(_ name: String) -> String {
  name.hasPrefix("_") ? String(name.dropFirst()) : name
}

/// Returns whether a name has the form of a unit that can contain processes (systemd.unit(5)).
package func isUnit(_ name: String) -> Bool {
  isUnitName(name, endingIn: [".service", ".scope", ".socket", ".mount", ".swap"])
}

private func isUnitName(_ name: String, endingIn suffixes: [String]) -> Bool {
  suffixes.contains { name.hasSuffix($0) && name != $0 }
    && name.utf8.allSatisfy(isAllowedInUnitName)
}

/// Returns whether the name of a unit may contain a character.
private func isAllowedInUnitName(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"):
    true
  default: ":-_.\\@".utf8.contains(byte)
  }
}
