import Testing

@Suite(.needsSystemd, .timeLimit(.minutes(10)))
struct `Stopping the service while a hundred clients save` {
  @Test(arguments: Systemd.allCases)
  func `loses no acknowledged save, and answers every save that was performed`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      try await machine.install()
      let output = try await machine.printed(
        by: """
          python3 /kist/Tests/SystemdTests/Probes/clients.py > ~/clients &
          until grep -q busy ~/clients; do sleep 0.01; done
          systemctl --user stop kistd.service
          wait
          cat ~/clients
          """)
      let lines = output.split(separator: "\n").map(String.init)
      #expect(lines.filter { $0.hasPrefix("half") } == [])
      let answered = Set(
        lines.filter { $0.hasPrefix("saved ") }.map { String($0.dropFirst("saved ".count)) })
      #expect(answered.count >= 100, "\(output.prefix(200))")
      // This starts kistd again.
      let stored = try await machine.printed(
        by: "kist list --json | python3 -c '\(accounts)'")
      #expect(Set(stored.split(separator: "\n").map(String.init)) == answered)
      #expect(try await machine.property("Result") == "success")
    }
  }

  private let accounts = """
    import json, sys
    for line in sys.stdin:
      print(json.loads(line)["account"])
    """
}
