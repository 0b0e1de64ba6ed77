public import Testing

/// One rule of a contract, and its check.
public struct ContractRule<Fixture: Sendable>: Sendable, CustomTestStringConvertible {
  /// The rule, as a sentence.
  public let name: String
  /// Checks the rule on a fresh storage; failures are recorded as issues of the running test.
  public let check: @Sendable (Fixture) async throws -> Void

  init(_ name: String, check: @escaping @Sendable (Fixture) async throws -> Void) {
    self.name = name
    self.check = check
  }

  /// The rule.
  public var testDescription: String { name }
}
