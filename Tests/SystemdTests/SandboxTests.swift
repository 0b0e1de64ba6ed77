import Foundation
import Testing

@Suite(.needsSystemd, .timeLimit(.minutes(10)))
struct `The sandbox of kistd.service` {
  /// Directives that permit something, or that define how others refuse.
  private let refusesNothing: Set = ["ReadWritePaths", "SystemCallErrorNumber"]
  /// Directives that work without a user namespace; on systemd 252, all others need one.
  private let refusedToUsers: Set = ["PrivateUsers", "NoNewPrivileges"]

  @Test(arguments: Systemd.allCases)
  func `refuses every operation that its directives are for`(systemd: Systemd) async throws {
    try await withMachine(systemd) { machine in
      try await prepare(machine)
      let inside = try await probes(
        in: "kistd.service", of: machine,
        settings: "Type=oneshot\nRestart=no\nWatchdogSec=0\nExecStart=")
      for probe in inside { #expect(!probe.isAllowed, "\(probe)") }
      // Outside of the sandbox, every operation succeeds, so each refusal is meaningful.
      let outside = try await probes(in: "probe.service", of: machine, settings: "Type=oneshot")
      for probe in outside { #expect(probe.isAllowed, "\(probe)") }
      #expect(inside.count == outside.count)
    }
  }

  @Test(arguments: Systemd.allCases)
  func `refuses each operation because of the directive listed for it`(systemd: Systemd)
    async throws
  {
    let directives = try sandbox()
    try await withMachine(systemd) { machine in
      try await prepare(machine)
      try await machine.printed(by: "mkdir -p ~/.local/share/kist ~/.local/state/kist")
      let users = "Type=oneshot\nPrivateUsers=yes"
      let without = try await probes(in: "probe.service", of: machine, settings: users)
      for probe in without where !refusedToUsers.contains(probe.directive) {
        #expect(probe.isAllowed, "\(probe)")
      }
      for (directive, lines) in directives where !refusesNothing.contains(directive) {
        let settings = refusedToUsers.contains(directive) ? "Type=oneshot" : users
        let probed = try await probes(
          in: "probe.service", of: machine, settings: ([settings] + lines).joined(separator: "\n")
        ).filter { $0.directive == directive }
        #expect(!probed.isEmpty, "\(directive) has no probe")
        for probe in probed { #expect(!probe.isAllowed, "\(probe)") }
      }
    }
  }

  @Test func `is documented with every directive in force`() throws {
    let page = try String(
      contentsOf: checkout.appending(path: "docs/systemd.md"), encoding: .utf8)
    let sections = page.split(separator: "The unit does not set these directives:")
    try #require(sections.count == 2)
    let (inForce, leftOut) = (directives(in: sections[0]), directives(in: sections[1]))
    #expect(Set(try sandbox().keys) == inForce)
    #expect(!leftOut.isEmpty)
  }

  /// The directives in the first column of the tables.
  private func directives(in text: Substring) -> Set<String> {
    Set(text.matches(of: /\n\| `(\w+)=/).map { String($0.1) })
  }

  private let checkout = URL(filePath: #filePath).appending(path: "../../..").standardized

  /// The directives of the sandbox, with the lines of each.
  private func sandbox() throws -> [String: [String]] {
    let unit = try String(
      contentsOf: checkout.appending(path: "systemd/kistd.service"), encoding: .utf8)
    let section = try #require(unit.split(separator: "\n# The sandbox.").last)
    let lines = section.split(separator: "\n").filter { $0.contains(/^[A-Z]\w+=/) }
    try #require(lines.count > 10)
    return Dictionary(grouping: lines.map(String.init)) { String($0.prefix { $0 != "=" }) }
  }

  private func prepare(_ machine: Machine) async throws {
    try await machine.install()
    try await machine.printed(
      by: "bash /kist/Tests/SystemdTests/Probes/prepare.sh", as: .root)
    try await machine.wait(until: "grep -q @kist-probe /proc/net/unix")
  }

  /// The result of one attempt.
  private struct Probe: CustomStringConvertible {
    let directive: String
    let description: String
    var isAllowed: Bool { description.hasSuffix(" allowed") }
  }

  /// Runs all attempts in a unit with these additional settings.
  private func probes(
    in unit: String, of machine: Machine, settings: String
  ) async throws -> [Probe] {
    let output = try await machine.printed(
      by: """
        cd ~/.config/systemd/user
        mkdir -p \(unit).d
        [ \(unit) = kistd.service ] || echo "[Unit]" > \(unit)
        cat > \(unit).d/probe.conf
        systemctl --user daemon-reload
        rm -f ~/probes
        systemctl --user start \(unit)
        systemctl --user stop \(unit) 2>/dev/null
        cat ~/probes
        """,
      input: """
        [Service]
        \(settings)
        ExecStart=/usr/bin/python3 /kist/Tests/SystemdTests/Probes/probe.py
        StandardOutput=append:%h/probes
        StandardError=journal
        """)
    return output.split(separator: "\n").map {
      Probe(directive: String($0.prefix { $0 != " " }), description: String($0))
    }
  }
}
