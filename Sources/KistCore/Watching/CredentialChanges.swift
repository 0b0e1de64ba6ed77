/// The changes of a storage since the watch began, as a sequence to iterate once.
///
/// - A change is reported at least once, when it is as durable as the storage makes it.
/// - The changes of one key arrive in the order of their revisions.
/// - When more than 1,024 changes wait, one `reset` replaces them.
/// - The sequence ends only with its task or with an error, for example `unavailable` once the
///   storage is closed.
/// - The watch ends when the last copy of this value and of its iterator is released.
public struct CredentialChanges: AsyncSequence, Sendable {
  /// One change.
  public typealias Element = CredentialChange
  /// The error that ends the sequence.
  public typealias Failure = StorageError

  /// The revision of the storage when the watch began; `nil` if the storage has no revision.
  ///
  /// If the last change that a caller received in an earlier watch has this revision, the caller
  /// missed nothing between the two watches.
  public let position: Revision?
  private let takeNext: @Sendable () async throws(StorageError) -> CredentialChange?

  /// Makes a sequence from a function that waits for the next change.
  ///
  /// The function returns `nil` when the task is cancelled.
  public init(
    position: Revision?,
    next: @escaping @Sendable () async throws(StorageError) -> CredentialChange?
  ) {
    self.position = position
    takeNext = next
  }

  /// Returns an iterator for one task.
  public func makeAsyncIterator() -> Iterator { Iterator(takeNext: takeNext) }

  /// An iterator that waits for each change.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let takeNext: @Sendable () async throws(StorageError) -> CredentialChange?

    /// Waits for the next change; returns `nil` when the task is cancelled.
    public func next() async throws(StorageError) -> CredentialChange? { try await takeNext() }
  }
}
