import Foundation
import Testing

/// The allowed imports of each module, except the standard library: the table in
/// docs/architecture.md.
func modules() throws -> [String: Set<String>] {
  let page = try String(
    contentsOf: packageRoot.appending(path: "docs/architecture.md"), encoding: .utf8)
  let section = try #require(page.split(separator: "\n## ").first { $0.hasPrefix("The modules") })
  var modules: [String: Set<String>] = [:]
  for line in section.split(separator: "\n") where line.hasPrefix("| `") {
    let cells = line.split(separator: "|")
    for module in names(in: cells[0]) { modules[module] = Set(names(in: cells[2])) }
  }
  return modules
}

private func names(in cell: Substring) -> [String] {
  cell.matches(of: /`([\w\-]+)`/).map { String($0.1) }
}

/// Part of the toolchain and free of I/O: any module may import them.
let standardLibrary: Set<String> = ["Synchronization"]

/// The files of KistCore that may import the C library: for wiping, and for the clock.
let coreFilesWithGlibc: Set<String> = ["WipedBytes.swift", "Now.swift"]
