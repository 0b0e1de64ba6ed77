internal import KistCore

extension Attributes {
  /// Which tool a credential was saved by; one without it was saved by hand, or by another program.
  static let toolName = "tool"
}

extension CredentialSummary {
  /// Whether a tool saved it.
  func isSaved(by tool: Tool) -> Bool {
    attributes[Attributes.toolName]?.hasSameBytes(as: tool.rawValue) ?? false
  }

  /// Whether no tool says that it saved it.
  var isSavedByHand: Bool { attributes[Attributes.toolName] == nil }
}

extension [CredentialSummary] {
  /// The latest save first; where two share a second, by their revisions, else by their keys.
  var newestFirst: [CredentialSummary] {
    sorted { left, right in
      if left.modifiedAt != right.modifiedAt { return left.modifiedAt > right.modifiedAt }
      return left.revision.isLater(than: right.revision) ?? (left.key < right.key)
    }
  }
}
