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
    return UserStorage(
      save: { request throws(StorageError) in
        try await watch.over(outcome: .unknown) { () async throws(StorageError) in
          try await save(request)
        }
      },
      load: load,
      delete: { request throws(StorageError) in
        try await watch.over(outcome: .unknown) { () async throws(StorageError) in
          try await delete(request)
        }
      },
      find: { query throws(StorageError) in
        try await watch.over(outcome: nil) { () async throws(StorageError) in
          try await find(query)
        }
      })
  }
}
