import Foundation
import KistInterop
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The pages about other tools` {
  private func page(_ name: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: root.appending(path: "docs/" + name), encoding: .utf8)
  }

  @Test(arguments: Tool.allCases)
  func `have each tool, and the name that it calls its helper by`(tool: Tool) throws {
    let lines = try page("integrations.md").split(separator: "\n")
    let row = try #require(lines.first { $0.hasPrefix("| `\(tool.rawValue)` |") })
    if let program = tool.program { #expect(row.contains("`\(program)`")) }
    let headings = lines.filter { $0.hasPrefix("## ") }
    #expect(headings.contains { $0.lowercased().contains(tool.rawValue) })
  }
}
