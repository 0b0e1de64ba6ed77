internal import ArgumentParser
internal import KistInterop

extension Helper {
  /// Reads a tool's call: a program with the tool's own name, or `helper TOOL` without options.
  ///
  /// Options of `keyring` are allowed, because its words have some. Returns `nil` for any other
  /// line. As with `Load.plainLine`, the argument parser would take longer than the rest.
  static func called(_ program: String, _ arguments: [String]) -> Helper? {
    if let tool = Tool(program: program) { return Helper(tool, arguments) }
    // Cargo starts every credential provider with this one word.
    if arguments == ["--cargo-plugin"] { return Helper(.cargo, []) }
    guard
      arguments.first == "helper", arguments.count > 1, let tool = Tool(rawValue: arguments[1]),
      !arguments.contains(where: { isOption($0, of: tool) })
    else { return nil }
    return Helper(tool, Array(arguments[2...]))
  }

  /// Whether a word is an option for the argument parser.
  private static func isOption(_ word: String, of tool: Tool) -> Bool {
    tool == .keyring ? ["--", "-h", "--help"].contains(word) : word.hasPrefix("-")
  }

  private init(_ tool: Tool, _ words: [String]) {
    self.init()
    self.tool = tool
    self.words = words
  }
}
