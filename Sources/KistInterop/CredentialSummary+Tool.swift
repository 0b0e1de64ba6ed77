internal import KistCore

extension Attributes {
  /// Which tool a credential was saved by; one without it was saved by hand, or by another program.
  static let toolName = "tool"
}

extension CredentialSummary {
  /// Which tool saved it; `nil` where none says so.
  var tool: String? { attributes[Attributes.toolName] }

  /// Whether a tool saved it.
  func isSaved(by tool: Tool) -> Bool {
    self.tool == tool.rawValue
  }

  /// Whether no tool says that it saved it.
  var isSavedByHand: Bool { tool == nil }

  /// Whether a tool may have it: no other tool saved it.
  func isMeant(for tool: Tool) -> Bool { isSavedByHand || isSaved(by: tool) }
}
