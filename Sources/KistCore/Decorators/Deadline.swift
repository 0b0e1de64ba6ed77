extension UserStorage {
  /// Answers `timeout` to a change or a search that takes longer than the deadline.
  ///
  /// What was begun goes on: the outcome of a change is `unknown`. A load is left as it is, because
  /// a load that hits never waits and should not pay for a watch; a storage whose loads may wait
  /// bounds them itself.
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
