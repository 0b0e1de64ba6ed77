import Testing

@Suite(.needsSystemd, .timeLimit(.minutes(10)))
struct `kistd as a service` {
  @Test(arguments: Systemd.allCases)
  func `starts at the first connection, and keeps its credentials after a restart`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      #expect(try await machine.printed(by: "find . -mindepth 1") == "")
      try await machine.install()
      #expect(try await machine.property("ActiveState") == "inactive")
      try await machine.printed(by: "printf pw | kist save s")
      #expect(try await machine.property("ActiveState") == "active")
      let process = try await machine.property("MainPID")
      try await machine.printed(by: "systemctl --user restart kistd.service")
      #expect(try await machine.property("MainPID") != process)
      #expect(try await machine.printed(by: "kist load s") == "pw")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `can be started by name, and reads its settings from a file`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      let settings =
        "mkdir -p ~/.config/kist; echo KISTD_LOG_LEVEL=debug > ~/.config/kist/kistd.env"
      try await machine.printed(by: "(cd /kist && make install); \(settings)")
      try await machine.printed(by: "systemctl --user daemon-reload")
      try await machine.printed(by: "systemctl --user start kistd.service")
      #expect(try await machine.printed(by: "printf pw | kist save s && kist load s") == "pw")
      #expect(try await machine.journal("--output json").contains(#""PRIORITY":"7""#))
    }
  }

  @Test(arguments: Systemd.allCases)
  func `confines its system calls, and its files if the kernel has Landlock`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      try await machine.addSettings("[Service]\nEnvironment=KISTD_LOG_LEVEL=debug\n")
      try await machine.printed(by: "printf pw | kist save s")
      let journal = try await machine.journal()
      #expect(
        journal.contains(
          /confined calls=seccomp files=(Landlock \d|not in force: this kernel has no Landlock)/),
        "\(journal)")
    }
  }

  @Test func `allows the confined kistd the system calls that scripts/list-calls lists`()
    async throws
  {
    try await withMachine(.version252) { machine in
      let list = "python3 -B /kist/scripts/list-calls"
      try await machine.printed(by: "\(list) | diff - /kist/Sources/CLinux/calls.h")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `cannot be reached by other users`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      try await machine.printed(by: "printf pw | kist save s")
      let socket = "/run/user/1000/kist/kist.sock"
      #expect(try await machine.printed(by: "stat -c '%a %F' \(socket)") == "600 socket")
      #expect(try await machine.printed(by: "stat -c %a /run/user/1000/kist") == "700")
      for attempt in ["stat \(socket)", "ls /run/user/1000/kist", "socat - UNIX:\(socket)"] {
        let end = try await machine.shell(attempt, as: .bob)
        #expect(end.status != 0, "\(attempt)")
        #expect(end.error.contains("Permission denied"), "\(attempt)")
      }
      try await machine.printed(by: "cd /kist && make install", as: .bob)
      let load = try await machine.shell("kist load s --socket \(socket)", as: .bob)
      #expect(load.status != 0)
      #expect(load.output == "")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `is restarted by the watchdog when it hangs`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      try await machine.addSettings("[Service]\nWatchdogSec=1s\n")
      try await machine.printed(by: "printf pw | kist save s")
      let process = try await machine.property("MainPID")
      try await machine.printed(by: "kill -STOP \(process)")
      try await machine.wait(
        until: "[ $(systemctl --user show -P NRestarts kistd.service) -gt 0 ]")
      #expect(try await machine.printed(by: "kist load s") == "pw")
      #expect(try await machine.property("MainPID") != process)
      #expect(try await machine.property("WatchdogSignal") == "9")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `keeps running when the session bus ends`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      try await machine.printed(by: "printf pw | kist save s")
      let process = try await machine.property("MainPID")
      let bus = try await machine.property("MainPID", of: "dbus.service")
      try await machine.printed(by: "kill -KILL \(bus)")
      // The manager may now hang for a minute, because it connects to the bus that it should start.
      // So this uses no systemctl.
      try await machine.wait(until: "! [ -e /proc/\(bus)/exe ]")
      #expect(try await machine.printed(by: "kist load s") == "pw")
      #expect(try await machine.printed(by: "ps -o comm= -p \(process)") == "kistd")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `exits when idle, and starts at the next connection`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      try await machine.printed(
        by: "mkdir -p ~/.config/kist; echo KISTD_IDLE_EXIT=100ms > ~/.config/kist/kistd.env")
      try await machine.printed(by: "printf pw | kist save s")
      try await machine.wait(
        until: "[ $(systemctl --user show -P ActiveState kistd.service) = inactive ]")
      #expect(try await machine.printed(by: "kist load s") == "pw")
      #expect(try await machine.property("Result") == "success")
      #expect(try await machine.property("NRestarts") == "0")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `reports to clients why its store cannot be opened, and opens it once that is mended`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      try await machine.printed(by: "printf pw | kist save s")
      for (wrong, mended, named) in [
        ("chmod 000 $D/credentials.db", "chmod 600 $D/credentials.db", "credentials.db"),
        ("chmod 777 $D", "chmod 700 $D", "other users may write"),
        ("chmod 644 $K", "chmod 600 $K", "has mode 644"),
        ("mv $K $K.x; head -c 6 /dev/zero > $K; chmod 600 $K", "mv $K.x $K", "has 6 bytes"),
      ] {
        let places = "D=~/.local/share/kist; K=~/.local/state/kist/key; "
        try await machine.printed(by: places + wrong)
        try await machine.printed(by: "systemctl --user restart kistd.service")
        let refused = try await machine.shell("kist load s")
        #expect(refused.status != 0, "\(wrong): \(refused.error)")
        #expect(refused.error.contains(named), "\(refused.error)")
        #expect(try await machine.property("StatusText").contains(named))
        let process = try await machine.property("MainPID")
        #expect(try await machine.printed(by: places + mended + "; kist load s") == "pw")
        try await machine.wait(
          until: "[ \"$(systemctl --user show -P StatusText kistd)\" = 'encrypted-file, open' ]")
        #expect(try await machine.property("MainPID") == process)
      }
    }
  }

  @Test(arguments: Systemd.allCases)
  func `refuses to start with an invalid setting, and starts after the correction`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      let settings = "~/.config/kist/kistd.env"
      try await machine.printed(
        by: "mkdir -p ~/.config/kist; echo KISTD_DEADLINE=10 > \(settings)")
      try await machine.install()
      let refused = try await machine.shell("timeout 30 kist status")
      #expect(refused.status == 7, "\(refused.error)")
      #expect(refused.error.contains("journalctl --user -t kistd -t"))
      #expect(try await machine.property("ExecMainStatus") == "64")
      #expect(try await machine.journal().contains("KISTD_DEADLINE has no unit"))
      try await machine.printed(
        by: """
          echo KISTD_DEADLINE=10s > \(settings)
          # systemd limits the connections within two seconds. A user needs longer, too.
          sleep 2
          systemctl --user reset-failed
          systemctl --user start kistd-credentials.socket kistd.socket
          printf pw | kist save s
          """)
      #expect(try await machine.printed(by: "kist load s") == "pw")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `can be restarted many times in a row`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      try await machine.printed(by: "printf pw | kist save s")
      try await machine.printed(
        by: "for i in 1 2 3 4 5 6 7 8; do systemctl --user restart kistd.service || exit; done")
      #expect(try await machine.printed(by: "kist load s") == "pw")
    }
  }

  @Test(arguments: Systemd.allCases)
  func `logs the storage that it chose, and no secret`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      try await machine.addSettings("[Service]\nEnvironment=KISTD_LOG_LEVEL=trace\n")
      try await machine.printed(by: "printf canary-pw | kist save canary-s canary-a")
      try await machine.printed(by: "kist load canary-s canary-a; kist load canary-x || true")
      try await machine.printed(by: "systemctl --user stop kistd.service")
      let journal = try await machine.journal()
      #expect(journal.contains("serving reason=the encrypted file"), "\(journal)")
      #expect(!journal.contains("canary"), "\(journal)")
      #expect(try await machine.property("Result") == "success")
    }
  }
}
