public import Testing

/// One promise and how it is checked.
public struct ContractRule<Fixture: Sendable>: Sendable, CustomTestStringConvertible {
  /// The promise, a sentence.
  public let name: String
  /// Checks it on a fresh storage; what fails is recorded as an issue of the running test.
  public let check: @Sendable (Fixture) async throws -> Void

  init(_ name: String, check: @escaping @Sendable (Fixture) async throws -> Void) {
    self.name = name
    self.check = check
  }

  /// The promise.
  public var testDescription: String { name }
}
