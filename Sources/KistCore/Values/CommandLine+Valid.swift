extension CommandLine {
  /// The words after the program's name; `nil` when one is not UTF-8, which `arguments` would have
  /// repaired to another word without saying so.
  package static var validArguments: [String]? {
    var words: [String] = []
    for index in stride(from: 1, to: Int(argc), by: 1) {
      guard let word = unsafe unsafeArgv[index],
        let text = unsafe String(validatingCString: word)
      else { return nil }
      words.append(text)
    }
    return words
  }

  /// The last part of the name that the program was called by.
  package static var programName: String {
    guard let word = unsafe unsafeArgv[0] else { return "" }
    return unsafe String(cString: word).split(separator: "/").last.map(String.init) ?? ""
  }
}
