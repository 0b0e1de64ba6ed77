import Testing

@Suite(.timeLimit(.minutes(10))) struct `Output of the programs` {
  /// The files that may write to a stream themselves: the gates, files that write no text (secrets,
  /// and the protocols of other tools), and fixed texts that are overwritten on the same line.
  private let writers: Set<String> = [
    "Terminal.swift", "Terminal+Reading.swift",
    "Load.swift", "Inject.swift", "Export.swift", "Helper.swift",
    "Output.swift", "Program.swift", "Kistd+KeyringItems.swift",
  ]

  @Test func `goes through the functions that make untrusted text visible`() throws {
    let files = try sourceFiles()
    for file in files where !writers.contains(file.name) {
      for line in file.lines {
        #expect(
          !line.contains(/\b(writeBytes|writeError|writeToStandardError|print|fputs|puts)\(/)
            && !line.contains(/\bwrite\(STD(OUT|ERR)_FILENO|\bwriteAll\(.*STD(OUT|ERR)_FILENO/),
          "\(file.module)/\(file.name): \(line)")
      }
    }
    #expect(writers.isSubset(of: files.map(\.name)))
  }
}
