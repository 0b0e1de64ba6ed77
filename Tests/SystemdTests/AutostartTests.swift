import Testing

@Suite(.needsSystemd, .timeLimit(.minutes(10)))
struct `The first kist after make install` {
  @Test(arguments: Systemd.allCases)
  func `starts kistd through systemd, and its secret is there after logout and login`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      try await machine.printed(by: "cd /kist && make install")
      try await machine.printed(by: "printf pw | kist save s")
      #expect(try await machine.property("ActiveState", of: "kistd.socket") == "active")
      #expect(try await machine.property("UnitFileState", of: "kistd.socket") == "disabled")
      #expect(try await machine.property("ActiveState") == "active")
      try await machine.logOutAndIn()
      #expect(try await machine.property("ActiveState", of: "kistd.socket") == "inactive")
      #expect(try await machine.printed(by: "kist load s") == "pw")
      #expect(try await machine.property("ActiveState") == "active")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `starts nothing if the unit is masked`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      try await machine.printed(by: "cd /kist && make install")
      try await machine.printed(by: "systemctl --user mask kistd.socket")
      let end = try await machine.shell("kist list")
      #expect(end.status == 7)
      #expect(end.error.contains("systemctl --user unmask kistd.socket"), "\(end.error)")
      #expect(try await machine.shell("pgrep -x kistd").status == 1)
    }
  }

  @Test(arguments: Systemd.allCases)
  func `starts kistd itself without units, and its secret is there after logout and login`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      let units = "rm ~/.local/share/systemd/user/kistd*; systemctl --user daemon-reload"
      try await machine.printed(by: "(cd /kist && make install); \(units)")
      try await machine.printed(by: "printf pw | kist save s")
      let process = try await machine.printed(by: "cat $XDG_RUNTIME_DIR/kist/kist.sock.lock")
      let session = try await machine.printed(by: "ps -o sid= -p \(process)")
      #expect(session.trimmingPrefix(while: \.isWhitespace) == process)
      try await machine.logOutAndIn()
      #expect(try await machine.printed(by: "kist load s") == "pw")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `uses the kistd of a job that serves the storage, although the unit listens`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      try await machine.printed(by: "printf pw | kist save s; systemctl --user stop kistd.service")
      let job = """
        cd; mkfifo begun ended
        env -u XDG_RUNTIME_DIR -u DBUS_SESSION_BUS_ADDRESS \
          kistd -- sh -c 'echo > begun; read x < ended' &
        read x < begun; kist load s; env -u XDG_RUNTIME_DIR kist load s; echo > ended; wait
        """
      #expect(try await machine.printed(by: job) == "pwpw")
      #expect(try await machine.printed(by: "kist load s") == "pw")
    }
  }
}

extension Machine {
  /// Ends the manager and the runtime directory of alice, as the end of the last session does, and
  /// starts them again.
  fileprivate func logOutAndIn() async throws {
    try await printed(
      by: "systemctl stop user@1000.service user-runtime-dir@1000.service", as: .root)
    try await printed(by: "! [ -e /run/user/1000/kist ]", as: .root)
    try await printed(by: "systemctl start user@1000.service", as: .root)
  }
}
