import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The documentation` {
  @Test func `every relative link leads to a file, and to the heading that it names`() throws {
    try checkLinks(of: pages())
  }

  @Test func `every relative link of the installed pages leads to a file, too`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "kist-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let script = packageRoot.appending(path: "scripts/install-docs").path
    try #expect(status(of: [script, folder.path]) == 0)
    try checkLinks(of: pages(in: folder))
  }

  private func checkLinks(of pages: [URL]) throws {
    for page in pages {
      let folder = page.deletingLastPathComponent()
      let text = try String(contentsOf: page, encoding: .utf8)
      for match in text.matches(of: /\]\(([^)#:\s]*)(?:#([^)\s]*))?\)/) {
        let target =
          match.1.isEmpty ? page : folder.appending(path: String(match.1)).standardizedFileURL
        #expect(
          FileManager.default.fileExists(atPath: target.path),
          "\(page.lastPathComponent): \(match.0)")
        guard let heading = match.2, target.pathExtension == "md" else { continue }
        #expect(
          try headings(of: target).contains(String(heading)),
          "\(page.lastPathComponent): \(match.0)")
      }
    }
  }

  @Test func `every named source file and test target exists`() throws {
    let everything = try #require(
      FileManager.default.enumerator(
        at: packageRoot, includingPropertiesForKeys: nil, options: .skipsHiddenFiles))
    let names = Set(everything.map { ($0 as! URL).lastPathComponent })
    for page in try pages() {
      let text = try String(contentsOf: page, encoding: .utf8)
      for match in text.matches(
        of: /`([\w+]+\.(?:swift|py)|Kist\w+Tests|EndToEndTests|HouseTests)`/)
      {
        let exists = names.contains(String(match.1))
        #expect(exists, "\(page.lastPathComponent): \(match.1)")
      }
    }
  }

  @Test func `pages for users name no test files`() throws {
    let pagesForMaintainers = [
      "architecture.md", "evidence.md", "file-format.md", "performance.md", "performance-tried.md",
      "protocol.md", "shared-format.md", "threat-model.md", "CHANGELOG.md", "CONTRIBUTING.md",
      "SECURITY.md",
    ]
    for page in try pages() where !pagesForMaintainers.contains(page.lastPathComponent) {
      let text = try String(contentsOf: page, encoding: .utf8)
      let names = text.matches(of: /\w+Tests?\b(\.swift)?|test_\w+\.py/).map(\.output.0)
      #expect(names.isEmpty, "\(page.lastPathComponent): \(names)")
    }
  }

  @Test func `the pictures match the output of their script`() throws {
    let script = packageRoot.appending(path: "docs/pictures/draw.py").path
    try #expect(status(of: ["python3", script, "--check"]) == 0)
  }

  /// Runs a program, found in PATH, and returns its exit status.
  private func status(of words: [String]) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }

  /// The names by which links lead to the headings of a page.
  private func headings(of page: URL) throws -> Set<String> {
    let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
    let titles = lines.compactMap { $0.wholeMatch(of: /#+ (.+)/)?.1 }
    return Set(
      titles.map { title in
        String(title.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) })
          .replacing(" ", with: "-")
      })
  }

  /// README.md and its siblings, and everything under docs/.
  private func pages() throws -> [URL] {
    try pages(in: packageRoot) + pages(in: packageRoot.appending(path: "docs"))
  }

  private func pages(in folder: URL) throws -> [URL] {
    let pages = try FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil
    ).filter { $0.pathExtension == "md" }
    try #require(pages.count > 3)
    return pages
  }
}
