/// The changes of a storage since somebody began to watch it, to be gone through once.
///
/// A change is told when it is as durable as the storage makes it, and at least once; those of a key come
/// in the order of their revisions. Of 1,024 that were not taken, and one more, a `reset` is left. There is
/// no end but that of the task, or an error, such as `unavailable` once the storage is closed. The watch
/// ends when the last copy of this, and of its iterator, goes.
public struct CredentialChanges: AsyncSequence, Sendable {
  /// One change.
  public typealias Element = CredentialChange
  /// Why there are no more.
  public typealias Failure = StorageError

  /// Where the storage stood when the watch had begun; `nil` where it does not tell.
  ///
  /// Who watched before, and then saw the change with this mark as the latest, has missed none.
  public let position: Revision?
  private let takeNext: @Sendable () async throws(StorageError) -> CredentialChange?

  /// Makes a sequence of a function that waits for the next change, and gives `nil` to a task that is
  /// cancelled.
  public init(
    position: Revision?,
    next: @escaping @Sendable () async throws(StorageError) -> CredentialChange?
  ) {
    self.position = position
    takeNext = next
  }

  /// Goes through the changes, for one task.
  public func makeAsyncIterator() -> Iterator { Iterator(takeNext: takeNext) }

  /// Waits for one change after another.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let takeNext: @Sendable () async throws(StorageError) -> CredentialChange?

    /// Waits for the next change; `nil` where the task is cancelled.
    public func next() async throws(StorageError) -> CredentialChange? { try await takeNext() }
  }
}
