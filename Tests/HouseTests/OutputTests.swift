import Testing

@Suite(.timeLimit(.minutes(10))) struct `What the programs print` {
  /// The files that write to a stream themselves: the gates, what is no text (secrets, and the
  /// protocols of other tools), and fixed texts that are written over again on the same line.
  private let writers: Set<String> = [
    "Terminal.swift", "Terminal+Live.swift", "Terminal+Writing.swift", "Terminal+Reading.swift",
    "Load.swift", "Inject.swift", "Export.swift", "Helper.swift", "ProgressBar.swift",
    "StandardError.swift", "StandardOutput.swift", "Progress.swift",
  ]

  @Test func `goes through the functions that make foreign text visible`() throws {
    let files = try sourceFiles()
    for file in files where !writers.contains(file.name) {
      for line in file.lines {
        #expect(
          !line.contains(/\b(writeBytes|writeError|writeToStandardError|print|fputs|puts)\(/),
          "\(file.module)/\(file.name): \(line)")
      }
    }
    #expect(writers.isSubset(of: files.map(\.name)))
  }
}
