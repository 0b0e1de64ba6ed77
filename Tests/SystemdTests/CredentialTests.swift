import Testing

@Suite(.needsSystemd, .timeLimit(.minutes(10)))
struct `A unit with a credential from kistd` {
  @Test(arguments: Systemd.allCases)
  func `gets the exact bytes, and its start also starts kistd`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      try await machine.printed(
        by: #"""
          printf 'a\0b\n\n\377\n' > ~/secret
          kist save app.service db-password --exact < ~/secret
          systemctl --user stop kistd.service
          """#)
      try await machine.addApplication()
      try await machine.printed(by: "systemctl --user start app.service")
      try await machine.printed(by: "cmp ~/secret ~/taken")
      #expect(try await machine.property("ActiveState") == "active")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `fails to start without its credential, and the journal of kistd names both`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      // The stored credentials are for another unit and for another name.
      try await machine.printed(by: "printf pw | kist save other.service db-password")
      try await machine.printed(by: "printf pw | kist save app.service other")
      try await machine.addApplication()
      #expect(try await machine.shell("systemctl --user start app.service").status != 0)
      #expect(try await machine.property("ExecMainStatus", of: "app.service") == "243")
      #expect(try await machine.shell("stat ~/taken").status != 0)
      let journal = try await machine.journal("--output cat --priority warning")
      #expect(journal.contains("app.service"))
      #expect(journal.contains("db-password"))
    }
  }
}

@Suite(.needsSystemd, .timeLimit(.minutes(10)))
struct `The passphrase of the encrypted file` {
  @Test func `is decrypted by systemd-creds in a service behind a socket`() async throws {
    try await withMachine(.version257) { machine in
      try await machine.install()
      try await machine.printed(
        by: """
          mkdir -p ~/.config/kist ~/.config/systemd/user
          printf 'open sesame' |
            systemd-creds encrypt --user --name=kist.passphrase - ~/.config/kist/kist.passphrase.cred
          cat > ~/.config/systemd/user/kist-passphrase.socket <<.
          [Socket]
          ListenStream=%t/kist-passphrase.sock
          SocketMode=0600
          Accept=yes
          .
          cat > ~/.config/systemd/user/kist-passphrase@.service <<.
          [Service]
          ExecStart=/usr/bin/systemd-creds decrypt --user --name=kist.passphrase \
            %E/kist/kist.passphrase.cred -
          StandardOutput=socket
          StandardError=journal
          .
          """)
      try await machine.addSettings(
        """
        [Unit]
        Requires=kist-passphrase.socket
        After=kist-passphrase.socket
        [Service]
        LoadCredential=kist.passphrase:%t/kist-passphrase.sock
        """)
      try await machine.printed(by: "printf pw | kist save s")
      try await machine.printed(by: "systemctl --user restart kistd.service")
      #expect(try await machine.printed(by: "kist load s") == "pw")
      #expect(
        try await machine.printed(by: "kist status").contains("keyProtection: a passphrase file"))
      try await machine.printed(by: "[ ! -e ~/.local/state/kist/key ]")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `is read from the credentials of the service`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      try await machine.printed(by: "printf 'open sesame' > ~/passphrase")
      try await machine.install()
      try await machine.addSettings("[Service]\nLoadCredential=kist.passphrase:%h/passphrase\n")
      try await machine.printed(by: "printf pw | kist save s")
      #expect(
        try await machine.printed(by: "kist status").contains("keyProtection: a passphrase file"))
      try await machine.printed(by: "systemctl --user restart kistd.service")
      #expect(try await machine.printed(by: "kist load s") == "pw")
      try await machine.printed(by: "[ ! -e ~/.local/state/kist/key ]")
      // Without it, the service starts with a locked store.
      try await machine.addSettings("")
      try await machine.printed(by: "systemctl --user restart kistd.service")
      #expect(try await machine.shell("kist load s").status == 5)
    }
  }
}

extension Machine {
  /// Adds app.service, which takes a credential from kistd and writes it to ~/taken.
  func addApplication() async throws {
    try await printed(
      by: "cat > ~/.config/systemd/user/app.service; systemctl --user daemon-reload",
      input: """
        [Service]
        Type=oneshot
        LoadCredential=db-password:%t/kist/cred.sock
        ExecStart=/bin/sh -c 'cp $CREDENTIALS_DIRECTORY/db-password $HOME/taken'
        """)
  }
}
