import Testing

@Suite(.needsSystemd, .timeLimit(.minutes(10)))
struct `kistd as a service with a keyring` {
  private let unlock = "printf pw | gnome-keyring-daemon --replace --unlock --components=secrets"

  @Test(arguments: Systemd.allCases)
  func `stores credentials in the keyring, outside its sandbox`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      try await machine.printed(by: unlock)
      try await machine.install()
      try await machine.printed(by: "printf pw | kist save s a")
      #expect(try await machine.printed(by: "kist status").contains("storage: libsecret"))
      #expect(try await machine.printed(by: "secret-tool lookup service s account a") == "pw")
      try await machine.printed(by: "systemctl --user restart kistd.service")
      #expect(try await machine.printed(by: "kist load s a") == "pw")
      try await machine.printed(by: "[ ! -e ~/.local/share/kist/credentials.db ]")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `continues to run and reports locked while the keyring is locked`(systemd: Systemd)
    async throws
  {
    try await withMachine(systemd) { machine in
      try await machine.printed(by: unlock)
      try await machine.install()
      try await machine.printed(by: "printf pw | kist save s")
      // The bus starts another keyring daemon, which has no password for the keyring.
      try await machine.printed(by: "pkill --signal KILL gnome-keyring-d")
      try await machine.printed(by: "systemctl --user restart kistd.service")
      let process = try await machine.property("MainPID")
      for _ in 0..<3 {
        let load = try await machine.shell("kist load s")
        #expect(load.status == 5, "\(load.error)")
        #expect(load.error.contains("locked"), "\(load.error)")
      }
      #expect(try await machine.property("ActiveState") == "active")
      #expect(try await machine.property("NRestarts") == "0")
      #expect(try await machine.property("MainPID") == process)
      try await machine.printed(by: unlock)
      #expect(try await machine.printed(by: "kist load s") == "pw")
    }
  }
}
