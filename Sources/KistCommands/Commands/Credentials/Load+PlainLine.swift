internal import ArgumentParser

extension Load {
  /// Reads `load SERVICE [ACCOUNT]`, the line that scripts wait for; `nil` for any other line.
  ///
  /// The argument parser reads the same from it, but first prepares every command with all its
  /// options, which takes as long as everything else that a load does.
  static func plainLine(_ arguments: [String]) -> Load? {
    guard
      arguments.first == "load", (2...3).contains(arguments.count),
      !arguments.contains(where: { $0.hasPrefix("-") })
    else { return nil }
    // A property that is left out here traps when it is read.
    var load = Load()
    load.target = KeyArguments()
    load.target.service = arguments[1]
    load.target.account = arguments.count == 3 ? arguments[2] : ""
    load.allowExpired = false
    load.minRemaining = nil
    load.prompting = PromptOptions()
    load.prompting.noPrompt = false
    load.common = CommonOptions()
    load.common.json = false
    load.common.socket = nil
    return load
  }
}
