internal import ArgumentParser

extension Load {
  /// Reads `load SERVICE [ACCOUNT]`, the line that scripts wait for; returns `nil` for any other
  /// line.
  ///
  /// The argument parser reads the same, but first prepares every command with all its options.
  /// That takes as long as the rest of a load.
  static func plainLine(_ arguments: [String]) -> Load? {
    guard
      arguments.first == "load", (2...3).contains(arguments.count),
      !arguments.contains(where: { $0.hasPrefix("-") })
    else { return nil }
    // Sets every property, because reading one that is not set traps.
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
