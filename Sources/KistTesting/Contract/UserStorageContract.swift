public import KistCore

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
  public static let all: [Rule] = bytes + changes + finding + conditions + expiry + limits
}
