import Testing

@Suite(.needsSystemd, .timeLimit(.minutes(10)))
struct `make install` {
  @Test(arguments: Systemd.allCases)
  func `installs everything, and prints the command that enables the sockets`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      let output = try await machine.printed(by: "cd /kist && make install")
      let command = try machine.commandToEnable(in: output)
      #expect(command == "systemctl --user enable --now kistd-credentials.socket kistd.socket")
      try await machine.printed(by: command)
      for unit in ["kistd.socket", "kistd-credentials.socket"] {
        #expect(try await machine.property("ActiveState", of: unit) == "active", "\(unit)")
        #expect(try await machine.property("UnitFileState", of: unit) == "enabled", "\(unit)")
      }
      #expect(try await machine.property("ActiveState") == "inactive")
      #expect(try await machine.printed(by: "printf pw | kist save s && kist load s") == "pw")
      let modes = "cd ~/.local/bin && stat --format %a:%U kist kistd kist-secret-service"
      #expect(try await machine.printed(by: modes) == "111:alice\n111:alice\n111:alice")
      // Installs again, over programs that cannot be read.
      try await machine.printed(by: "cd /kist && make install")
      #expect(try await machine.printed(by: modes) == "111:alice\n111:alice\n111:alice")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `followed by make uninstall leaves only the credentials and the audit log`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      try await machine.printed(by: "printf pw | kist save s")
      // A disabled socket still listens.
      try await machine.printed(by: "systemctl --user disable kistd.socket")
      try await machine.printed(by: "cd /kist && make uninstall")
      #expect(
        try await machine.printed(
          by: "find . ! -type d | sed -E 's/progress-[0-9a-f]{32}/progress/' | sort") == """
            ./.local/share/kist/credentials.db
            ./.local/share/kist/credentials.db.lock
            ./.local/state/kist/audit.jsonl
            ./.local/state/kist/audit.jsonl.mark
            ./.local/state/kist/key
            ./.local/state/kist/progress
            ./.local/state/kist/served
            ./.local/state/kist/served.users
            ./.local/state/kist/storage
            """)
      for unit in ["kistd.service", "kistd.socket", "kistd-credentials.socket"] {
        #expect(try await machine.property("ActiveState", of: unit) == "inactive", "\(unit)")
      }
      try await machine.install()
      #expect(try await machine.printed(by: "kist load s") == "pw")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `for all users serves each user with a separate storage`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      let output = try await machine.printed(
        by: "cd /kist && make install PREFIX=/usr/local", as: .root)
      let command = try machine.commandToEnable(in: output)
      #expect(
        try await machine.printed(
          by: "cd /usr/local/bin && stat --format %a:%U kist kistd kist-secret-service")
          == "711:root\n711:root\n711:root")
      for user in [Machine.User.alice, .bob] {
        try await machine.printed(by: command, as: user)
        try await machine.printed(by: "printf \(user) | kist save s", as: user)
      }
      for user in [Machine.User.alice, .bob] {
        #expect(try await machine.printed(by: "kist load s", as: user) == "\(user)")
        // The user owns the namespace of the service, so ptrace(2) alone would permit this.
        let pid = try await machine.property("MainPID", as: user)
        let look = try await machine.shell("readlink /proc/\(pid)/exe", as: user)
        #expect(look.status == 1, "\(look.output)")
      }
    }
  }
}
