import Foundation

/// secret-tool(1) on a private bus: the view of another program that uses libsecret.
package struct SecretTool: Sendable {
  private let bus: PrivateBus
  private let bound: Duration

  /// Each command is killed at a bound; its output then has no status.
  package init(on bus: PrivateBus, within bound: Duration = .unlessHung) {
    self.bus = bus
    self.bound = bound
  }

  /// Stores bytes as they are under attributes, which are names and values in turn.
  ///
  /// secret-tool keeps the first 8 KiB of its input.
  @discardableResult
  package func store(
    _ secret: some Sequence<UInt8>, label: String = "label", _ attributes: String...
  ) async throws -> Output {
    try await store(secret, label: label, attributes)
  }

  /// Stores bytes as they are under attributes, which are names and values in turn.
  @discardableResult
  package func store(
    _ secret: some Sequence<UInt8>, label: String = "label", _ attributes: [String]
  ) async throws -> Output {
    try await run(["store", "--label=\(label)"] + attributes, input: Data(secret))
  }

  package func lookup(_ attributes: String...) async throws -> Output {
    try await run(["lookup"] + attributes)
  }

  /// What is told of each item, the secret included.
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
