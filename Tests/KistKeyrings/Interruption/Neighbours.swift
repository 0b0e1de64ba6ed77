/// Items of others that a search for the interrupted credential finds, too, or nearly.
package struct Neighbours: Sendable {
  /// Those with fewer attributes first, for secret-tool replaces items that have all of its attributes.
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
  private let told: String

  /// Puts the items into the default collection.
  package init(on bus: PrivateBus) async throws {
    tool = SecretTool(on: bus)
    for (number, attributes) in Self.attributes.enumerated() {
      try await tool.store("other \(number)".utf8, label: "other \(number)", attributes)
    }
    told = try await Self.whatIsTold(by: tool)
  }

  /// Whether the items are as they were: label, times, attributes and secret.
  package func areUntouched() async throws -> Bool {
    try await Self.whatIsTold(by: tool) == told
      && told.matches(of: /secret = other \d/).count == Self.attributes.count
  }

  /// The lines of every item, in an order of their own; without its path, which gnome-keyring may
  /// make anew at a restart, and the name of the generic schema, which it shows sooner or later.
  private static func whatIsTold(by tool: SecretTool) async throws -> String {
    let output = try await tool.search("service", "example.org")
    return (output.text + output.errors).split(separator: "\n")
      .filter { !$0.hasPrefix("[") && $0 != "schema = org.freedesktop.Secret.Generic" }
      .sorted().joined(separator: "\n")
  }
}
