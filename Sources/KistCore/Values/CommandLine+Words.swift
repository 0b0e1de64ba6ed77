extension CommandLine {
  /// Returns the arguments after the program's name.
  ///
  /// Throws `badRequest` for an argument that is not UTF-8, because `arguments` would replace its
  /// invalid bytes. Throws it also where the program was started without a name; since Linux 5.18
  /// the name is then empty.
  package static func words() throws(StorageError) -> [String] {
    guard argc > 0, let name = unsafe unsafeArgv[0], unsafe name.pointee != 0 else {
      throw StorageError(
        .badRequest, "the program was started without its name (argv[0])",
        hint: "pass a name as the first word to execve(2), then the options")
    }
    var words: [String] = []
    for index in 1..<Int(argc) {
      guard let word = unsafe unsafeArgv[index], let text = unsafe String(validatingCString: word)
      else { throw .badRequest("an argument is not UTF-8") }
      words.append(text)
    }
    return words
  }

  /// The last path component of the name that the program was started with.
  package static var programName: String {
    guard let word = unsafe unsafeArgv[0] else { return "" }
    return unsafe String(cString: word).split(separator: "/").last.map(String.init) ?? ""
  }
}
