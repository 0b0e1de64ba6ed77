import Foundation
import Testing

@Suite(.needsSystemd, .timeLimit(.minutes(10)))
struct `The unit files` {
  private let units = "~/.local/share/systemd/user"

  @Test(arguments: Systemd.allCases)
  func `pass systemd-analyze verify without a message`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      let verify = "systemd-analyze --user verify \(units)/kistd*"
      let end = try await machine.shell(verify)
      #expect(end.status == 0)
      #expect(end.output + end.error == "")
      // It reports a mistake.
      try await machine.printed(by: "echo Mistake=yes >> \(units)/kistd.service")
      #expect(try await machine.shell(verify).error.contains("Mistake"))
    }
  }

  @Test(arguments: Systemd.allCases)
  func `have an exposure of at most 2 of 10 in systemd-analyze security`(systemd: Systemd)
    async throws
  {
    try await withMachine(systemd) { machine in
      try await machine.install()
      let security = "systemd-analyze --user security --offline=yes --no-pager --threshold"
      try await machine.printed(by: "\(security)=20 \(units)/kistd.service")
      try await machine.printed(by: "sed -i /^Restrict/d \(units)/kistd.service")
      #expect(
        try await machine.shell("\(security)=20 \(units)/kistd.service").status != 0)
    }
  }

  /// The unit of a program, with another command.
  private func unit(of program: String, running command: String) throws -> String {
    let path = URL(filePath: #filePath)
      .appending(path: "../../../systemd/\(program).service").standardized
    let unit = try String(contentsOf: path, encoding: .utf8)
    let changed = unit.replacing("ExecStart=/usr/bin/\(program)", with: "ExecStart=" + command)
    try #require(changed != unit)
    return changed
  }

  @Test(arguments: Systemd.allCases)
  func `of other programs are valid, and have an exposure of at most 2 of 10`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      for program in ["kist-secret-service", "kist-etcd"] {
        let path = "~/.config/systemd/user/\(program).service"
        try await machine.printed(
          by: "mkdir -p ~/.config/systemd/user; cat > \(path)",
          input: try unit(of: program, running: "/bin/true"))
        let verify = try await machine.shell("systemd-analyze --user verify \(path)")
        #expect(verify.status == 0)
        #expect(verify.output + verify.error == "")
        try await machine.printed(
          by: "systemd-analyze --user security --offline=yes --no-pager --threshold=20 \(path)")
      }
    }
  }

  @Test(arguments: Systemd.allCases)
  func `of kist-secret-service lets a program reach sockets, see no home, and write no file there`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      try await machine.printed(
        by: "cat > /usr/local/bin/probe; chmod 755 /usr/local/bin/probe", as: .root,
        input: """
          #!/bin/bash
          busctl --user list | grep -c '^org.freedesktop.DBus '
          echo hello | socat -t 5 - UNIX:$XDG_RUNTIME_DIR/kist/kist.sock,retry=50,interval=0.1
          ls -A ~ 2>/dev/null | wc -l
          for path in $XDG_RUNTIME_DIR/x ~/x /usr/local/x; do touch $path 2>/dev/null || echo refused; done

          """)
      let unit = try unit(of: "kist-secret-service", running: "/usr/local/bin/probe")
        .split(separator: "\n")
        .filter { !$0.hasPrefix("BusName=") && !$0.hasPrefix("Restart") }
        .joined(separator: "\n").replacing("Type=dbus", with: "Type=oneshot")
      try await machine.printed(
        by: "mkdir -p ~/.config/systemd/user $XDG_RUNTIME_DIR/kist; touch ~/file; "
          + "cat > ~/.config/systemd/user/kist-secret-service.service; "
          + "systemctl --user daemon-reload", input: unit)
      // In the place of kistd, a program that answers with the request.
      try await machine.printed(
        by:
          "systemd-run --user --quiet socat UNIX-LISTEN:$XDG_RUNTIME_DIR/kist/kist.sock,fork EXEC:cat"
      )
      try await machine.printed(by: "systemctl --user start kist-secret-service")
      try await machine.printed(by: "journalctl --sync", as: .root)
      let found = try await machine.printed(by: "journalctl --user -t probe -o cat --no-pager")
      #expect(found == "1\nhello\n0\nrefused\nrefused\nrefused")
    }
  }
}
