public import KistCore
public import Testing

/// One rule of a contract, and its check.
public struct ContractRule<Fixture: Sendable>: Sendable, CustomTestStringConvertible {
  /// The rule, as a sentence.
  public let name: String
  /// Checks the rule on a fresh storage; failures are recorded as issues of the running test.
  public let check: @Sendable (Fixture) async throws -> Void

  /// The rule.
  public var testDescription: String { name }
}

extension ContractRule<UserStorageContract.Fixture> {
  init(_ name: String, _ check: @escaping @Sendable (UserStorage) async throws -> Void) {
    self.init(name: name) { try await check($0.storage) }
  }

  init(_ name: String, _ check: @escaping @Sendable (UserStorage, Fixture) async throws -> Void) {
    self.init(name: name) { try await check($0.storage, $0) }
  }
}

extension ContractRule<WatchContract.Fixture> {
  init(
    _ name: String,
    _ check: @escaping @Sendable (UserStorage, WatchCredentials) async throws -> Void
  ) {
    self.init(name: name) { try await check($0.storage, $0.watch) }
  }
}

/// Expects a request to fail with this code; returns the error.
@discardableResult
package func expect<Reply>(
  _ code: StorageError.Code, from request: () async throws -> Reply,
  sourceLocation: SourceLocation = #_sourceLocation
) async -> StorageError? {
  do {
    _ = try await request()
    Issue.record("the request did not fail with \(code)", sourceLocation: sourceLocation)
  } catch let error as StorageError {
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    return error
  } catch {
    Issue.record(error, sourceLocation: sourceLocation)
  }
  return nil
}

/// Expects a change to fail with this code and with the outcome `unchanged`.
@discardableResult
func expectUnchanged<Reply>(
  _ code: StorageError.Code, from change: () async throws -> Reply,
  sourceLocation: SourceLocation = #_sourceLocation
) async -> StorageError? {
  let error = await expect(code, from: change, sourceLocation: sourceLocation)
  if let error { #expect(error.outcome == .unchanged, sourceLocation: sourceLocation) }
  return error
}

extension Credential {
  /// Makes a stored credential for a comparison.
  init(_ summary: CredentialSummary, _ secret: String) {
    self.init(summary: summary, secret: Secret(utf8: secret))
  }
}

/// Returns an ASCII text of this many bytes.
func text(ofLength length: Int) -> String { String(repeating: "x", count: length) }

/// The rules that every storage of credentials must follow.
///
/// A test target runs them all with one parameterised test:
///
/// ```swift
/// @Test(arguments: UserStorageContract.all)
/// func `the storage follows the contract`(rule: UserStorageContract.Rule) async throws {
///   let clock = ManualClock()
///   try await rule.check(.init(storage: .inMemory(now: clock.now), clock: clock))
/// }
/// ```
public enum UserStorageContract {
  /// One rule, and its check.
  public typealias Rule = ContractRule<Fixture>

  /// A fresh, empty storage for one rule.
  public struct Fixture: Sendable {
    /// The storage to check.
    public let storage: UserStorage
    /// The clock that is the storage's `now`.
    public let clock: ManualClock
    /// Returns another handle on the same storage, such as another connection to it.
    public let anotherHandle: @Sendable () async throws -> UserStorage

    /// Creates a fixture; by default, other handles are the storage itself.
    public init(
      storage: UserStorage, clock: ManualClock,
      anotherHandle: (@Sendable () async throws -> UserStorage)? = nil
    ) {
      self.storage = storage
      self.clock = clock
      self.anotherHandle = anotherHandle ?? { storage }
    }
  }

  /// Every rule.
  public static let all: [Rule] =
    bytes + changes + keeping + finding + conditions + expiry + limits
}
