import ArgumentParser
import Foundation
import Testing

@testable import KistDaemon

@Suite struct `The page about the daemon` {
  @Test func `has every option with its variable`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/kistd.md"), encoding: .utf8)
    // `--to` is of `kistd migrate`, which is asked for by no variable.
    let options = Set(Kistd.helpMessage(columns: 200).matches(of: /--([a-z-]+)/).map(\.1))
      .subtracting(["version", "help", "to"])
    try #require(options.count == 9)
    for option in options {
      let variable = "KISTD_" + option.uppercased().replacing("-", with: "_")
      #expect(page.contains("| `--\(option)`"), "\(option)")
      #expect(page.contains("| `\(variable)` |"), "\(variable)")
    }
  }
}
