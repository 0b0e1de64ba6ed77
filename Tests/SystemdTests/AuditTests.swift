import Foundation
import Testing

@Suite(.needsSystemd, .timeLimit(.minutes(10)))
struct `The audit log of kistd.service` {
  @Test(arguments: Systemd.allCases)
  func `has the unit of who asked, also of one that has ended, within a second and over a reload`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      try await machine.printed(by: "printf pw | kist save app.service db-password")
      let asks = "systemd-run --user --quiet --wait --unit"
      try await machine.printed(
        by: "\(asks) asker ~/.local/bin/kist load app.service db-password")
      try await machine.printed(by: "systemctl --user reload kistd.service")
      try await machine.printed(
        by: "! \(asks) guesser ~/.local/bin/kist load app.service other")
      // Nobody asks for it: it is written by itself.
      let log = "~/.local/state/kist/audit.jsonl"
      try await machine.wait(until: "grep -q guesser.service \(log)")
      #expect(try await machine.printed(by: "stat -c %a \(log)") == "600")
      #expect(try await machine.shell("grep -q db-password \(log)").status == 1)

      let asked = try await machine.printed(
        by: "kist audit --service app.service --unit asker.service --json")
      let record = try #require(
        try JSONSerialization.jsonObject(with: Data(asked.utf8)) as? [String: Any])
      #expect(record["operation"] as? String == "load")
      #expect(record["outcome"] as? String == "ok")
      #expect(record["claims"] as? String == "kist")
      #expect(record["account"] as? String == "db-password")
      let guessed = try await machine.printed(by: "kist audit --unit guesser.service")
      #expect(guessed.contains("\tload\tnotFound\t"))
    }
  }

  @Test(arguments: Systemd.allCases)
  func `has what systemd asked for on behalf of a unit`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      try await machine.printed(by: "printf pw | kist save app.service db-password")
      try await machine.addApplication()
      try await machine.printed(by: "systemctl --user start app.service")
      let log = try await machine.printed(
        by: "kist audit --operation credential --service app.service")
      #expect(log.contains("\tcredential\tok\t"))
      #expect(log.contains("\tapp.service\t"))
      #expect(log.hasSuffix("\tapp.service\tdb-password"))
    }
  }
}
