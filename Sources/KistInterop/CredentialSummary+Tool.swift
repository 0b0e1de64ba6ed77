internal import KistCore

extension Attributes {
  /// The name of the tool that saved a credential.
  ///
  /// Users and other programs save credentials without it.
  static let toolName = "tool"
}

extension CredentialSummary {
  /// The tool that saved it; `nil` if no tool did.
  var tool: String? { attributes[Attributes.toolName] }

  /// Whether a tool saved it.
  func isSaved(by tool: Tool) -> Bool {
    self.tool == tool.rawValue
  }

  /// Whether it was saved without a tool's attribute.
  var isSavedByHand: Bool { tool == nil }

  /// Whether a tool may use it: no other tool saved it.
  func isMeant(for tool: Tool) -> Bool { isSavedByHand || isSaved(by: tool) }
}
