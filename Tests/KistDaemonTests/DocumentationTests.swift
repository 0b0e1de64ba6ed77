import ArgumentParser
import Foundation
import Testing

@testable import KistDaemon

@Suite struct `The page about the daemon` {
  @Test func `has every option with its variable`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/kistd.md"), encoding: .utf8)
    // `--to` and `--salvage` are of commands of kistd, and asked for by no variable.
    let options = Set(Kistd.helpMessage(columns: 200).matches(of: /--([a-z-]+)/).map(\.1))
      .subtracting(["version", "help", "to", "salvage"])
    let rows = Set(page.matches(of: /(?m)^\| `--([a-z-]+)`.*`KISTD_/).map(\.1))
    #expect(rows == options)
    for option in options {
      let variable = "KISTD_" + option.uppercased().replacing("-", with: "_")
      #expect(page.contains("| `\(variable)` |"), "\(variable)")
    }
  }
}
