import Foundation

/// secret-tool(1) on a private bus, as an example of another program that uses libsecret.
package struct SecretTool: Sendable {
  private let bus: PrivateBus
  private let bound: Duration

  /// Each command is killed at a time limit; its output then has no status.
  package init(on bus: PrivateBus, within bound: Duration = .unlessHung) {
    self.bus = bus
    self.bound = bound
  }

  /// Stores bytes unchanged under attributes, which are alternating names and values.
  ///
  /// secret-tool keeps the first 8 KiB of its input.
  @discardableResult
  package func store(
    _ secret: some Sequence<UInt8>, label: String = "label", _ attributes: String...
  ) async throws -> Output {
    try await store(secret, label: label, attributes)
  }

  /// Stores bytes unchanged under attributes, which are alternating names and values.
  @discardableResult
  package func store(
    _ secret: some Sequence<UInt8>, label: String = "label", _ attributes: [String]
  ) async throws -> Output {
    try await run(["store", "--label=\(label)"] + attributes, input: Data(secret))
  }

  package func lookup(_ attributes: String...) async throws -> Output {
    try await run(["lookup"] + attributes)
  }

  /// Returns the description of each item, including the secret.
  ///
  /// The attributes are written to standard error.
  package func search(_ attributes: String...) async throws -> Output {
    try await run(["search", "--all"] + attributes)
  }

  @discardableResult
  package func clear(_ attributes: String...) async throws -> Output {
    try await run(["clear"] + attributes)
  }

  private func run(_ arguments: [String], input: Data = Data()) async throws -> Output {
    try await bus.run("/usr/bin/secret-tool", arguments, input: input, within: bound)
  }
}
