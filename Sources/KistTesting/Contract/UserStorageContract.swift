public import KistCore

/// What every storage of credentials promises, as rules that any storage can be held against.
///
/// A test target runs them all with one parameterised test:
///
/// ```swift
/// @Test(arguments: UserStorageContract.all)
/// func `the storage keeps the contract`(rule: UserStorageContract.Rule) async throws {
///   let clock = ManualClock()
///   try await rule.check(.init(storage: .inMemory(now: clock.now), clock: clock))
/// }
/// ```
public enum UserStorageContract {
  /// One promise and how it is checked.
  public typealias Rule = ContractRule<Fixture>

  /// A fresh, empty storage for one rule.
  public struct Fixture: Sendable {
    /// The storage that is held against the rule.
    public let storage: UserStorage
    /// The clock that is the storage's `now`.
    public let clock: ManualClock
    /// Makes a further handle on the same storage, such as another connection to it.
    public let anotherHandle: @Sendable () async throws -> UserStorage

    /// Puts a fixture together; further handles are the storage itself unless they are given.
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
    secrets + keys + replacing + deleting + finding + paging + conditions + revisions + expiry
    + limits + refusals + concurrency
}
