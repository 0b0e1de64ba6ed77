import Testing

@Suite(.needsSystemd, .timeLimit(.minutes(10)))
struct `A test machine` {
  @Test(arguments: Systemd.allCases)
  func `runs its version of systemd, with a manager for each user`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      for user in [Machine.User.alice, .bob] {
        let version = try await machine.printed(
          by: "systemctl --user show --property Version --value", as: user)
        #expect(version.hasPrefix("\(systemd.rawValue)."))
        #expect(
          try await machine.printed(by: "id -un; id -u; pwd", as: user)
            == "\(user)\n\(user.identifier)\n\(user.home)")
      }
      #expect(try await machine.printed(by: "ps -o comm= -p 1", as: .root) == "systemd")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `has an empty home and a read-only checkout`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      #expect(try await machine.printed(by: "find . -mindepth 1") == "")
      #expect(try await machine.printed(by: "head -n 1 /kist/Makefile").contains("kist"))
      let written = try await machine.shell("touch /kist/written", as: .root)
      #expect(written.error.contains("Read-only file system"))
    }
  }

  @Test(arguments: Systemd.allCases)
  func `contains no files of an earlier machine`(systemd: Systemd) async throws {
    for _ in 0..<2 {
      try await withMachine(systemd) { machine in
        try await machine.printed(by: "mkdir ~/once /etc/once", as: .root)
      }
    }
  }
}
