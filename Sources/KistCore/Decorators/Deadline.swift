extension UserStorage {
  /// Returns a storage whose changes and searches throw `timeout` when they take longer than the
  /// deadline.
  ///
  /// The operation itself continues, so the outcome of a change is `unknown`. Loads have no
  /// deadline here: most never wait and should not pay for a timer. A storage whose loads may wait
  /// limits them itself.
  package func withDeadline(
    _ deadline: Duration, sleep: @escaping @Sendable (Duration) async -> Void
  ) -> UserStorage {
    let watch = DeadlineWatch(deadline, sleep: sleep)
    func limited<Input: Sendable, Output: Sendable>(
      _ outcome: StorageError.Outcome?,
      _ body: @escaping @Sendable (Input) async throws(StorageError) -> Output
    ) -> @Sendable (Input) async throws(StorageError) -> Output {
      { input throws(StorageError) in
        try await watch.over(outcome: outcome) { () async throws(StorageError) in
          try await body(input)
        }
      }
    }
    return UserStorage(
      save: limited(.unknown, save), load: load, delete: limited(.unknown, delete),
      find: limited(nil, find))
  }
}
