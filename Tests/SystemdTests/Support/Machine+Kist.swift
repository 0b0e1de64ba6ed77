import Testing

extension Machine {
  /// Installs kist for a user with `make install`, and enables its sockets.
  func install(_ more: String = "", as user: User = .alice) async throws {
    let output = try await printed(by: "cd /kist && make install", as: user)
    try await printed(by: more + "\n" + commandToEnable(in: output), as: user)
  }

  /// Returns the command that `make install` printed.
  func commandToEnable(in output: String) throws -> String {
    String(try #require(output.firstMatch(of: /systemctl .*/)).0)
  }

  /// Returns a property of a user's unit, as printed by systemctl(1).
  func property(
    _ name: String, of unit: String = "kistd.service", as user: User = .alice
  ) async throws -> String {
    try await printed(by: "systemctl --user show --property \(name) --value \(unit)", as: user)
  }

  /// Returns kistd's lines in the journal.
  func journal(_ options: String = "--output cat") async throws -> String {
    try await printed(by: "journalctl --sync", as: .root)
    return try await printed(
      by: "journalctl --quiet --no-pager \(options) _SYSTEMD_USER_UNIT=kistd.service", as: .root)
  }

  /// Adds settings to kistd's unit.
  func addSettings(_ settings: String) async throws {
    try await printed(
      by: """
        mkdir -p ~/.config/systemd/user/kistd.service.d
        cat > ~/.config/systemd/user/kistd.service.d/test.conf
        systemctl --user daemon-reload
        """, input: settings)
  }
}
