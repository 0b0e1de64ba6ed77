/// Items of other programs with attributes equal or similar to those of the interrupted credential.
package struct Neighbours: Sendable {
  /// Those with fewer attributes come first, as secret-tool replaces items that have all its
  /// attributes.
  private static let attributes: [[String]] = [
    ["service", "example.org"],
    ["service", "example.org", "account", "alice"],
    ["service", "example.org", "xdg:schema", "io.kist.Credential"],
    [
      "service", "example.org", "account", "alice", "xdg:schema", "io.kist.Credential", "more", "x",
    ],
    ["service", "example.org", "account", "alice", "xdg:schema", "org.example.Other"],
    ["service", "example.org", "account", "bob", "xdg:schema", "io.kist.Credential"],
  ]

  private let tool: SecretTool
  private let descriptions: String

  /// Stores the items in the default collection.
  package init(on bus: PrivateBus) async throws {
    tool = SecretTool(on: bus)
    for (number, attributes) in Self.attributes.enumerated() {
      try await tool.store("other \(number)".utf8, label: "other \(number)", attributes)
    }
    descriptions = try await Self.descriptions(by: tool)
  }

  /// Returns whether the items are unchanged: label, times, attributes and secret.
  package func areUntouched() async throws -> Bool {
    try await Self.descriptions(by: tool) == descriptions
      && descriptions.matches(of: /secret = other \d/).count == Self.attributes.count
  }

  /// The sorted lines of every item, without two parts: its path, which gnome-keyring may change at
  /// a restart, and the name of the generic schema, which it may show later.
  private static func descriptions(by tool: SecretTool) async throws -> String {
    let output = try await tool.search("service", "example.org")
    return (output.text + output.errors).split(separator: "\n")
      .filter { !$0.hasPrefix("[") && $0 != "schema = org.freedesktop.Secret.Generic" }
      .sorted().joined(separator: "\n")
  }
}
