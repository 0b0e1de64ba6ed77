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

  /// The unit of kist-secret-service with another command.
  private func secretService(_ command: String) throws -> String {
    let path = URL(filePath: #filePath)
      .appending(path: "../../../systemd/kist-secret-service.service").standardized
    let unit = try String(contentsOf: path, encoding: .utf8)
    let changed = unit.replacing(
      "ExecStart=/usr/bin/kist-secret-service", with: "ExecStart=" + command)
    try #require(changed != unit)
    return changed
  }

  @Test(arguments: Systemd.allCases)
  func `of kist-secret-service is valid, and has an exposure of at most 2 of 10`(
    systemd: Systemd
  ) async throws {
    try await withMachine(systemd) { machine in
      let unit = "~/.config/systemd/user/kist-secret-service.service"
      try await machine.printed(
        by: "mkdir -p ~/.config/systemd/user; cat > \(unit)", input: try secretService("/bin/true"))
      let verify = try await machine.shell("systemd-analyze --user verify \(unit)")
      #expect(verify.status == 0)
      #expect(verify.output + verify.error == "")
      try await machine.printed(
        by: "systemd-analyze --user security --offline=yes --no-pager --threshold=20 \(unit)")
    }
  }
}
