import Foundation
import Testing

@Suite(.needsSystemd, .timeLimit(.minutes(10)))
struct `The audit log of kistd.service` {
  @Test(arguments: Systemd.allCases)
  func `names the unit of each client within a second, even if it ended before a reload`(
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
      // kistd writes the log without a request for it.
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
  func `records the credentials that systemd loads for a unit`(systemd: Systemd) async throws {
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
