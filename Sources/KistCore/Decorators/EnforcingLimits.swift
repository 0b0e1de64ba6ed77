extension UserStorage {
  /// Returns a storage that enforces the limits of the protocol and the expiry of credentials.
  ///
  /// A request that exceeds a limit never reaches the storage. Loading an expired credential throws
  /// `expired`, unless the request allows it. `find`, `delete` and conditions treat an expired
  /// credential as present.
  ///
  /// Each function that opens a storage applies this last.
  package func enforcingLimits(now: @escaping @Sendable () -> Timestamp) -> UserStorage {
    UserStorage(
      save: { request throws(StorageError) in
        try unchanged { () throws(StorageError) in try check(request.credential) }
        return try await save(request)
      },
      load: { request throws(StorageError) in
        try check(request.key)
        let credential = try await load(request)
        guard !request.allowExpired, let moment = credential.summary.expiresAt,
          credential.summary.isExpired(at: now())
        else { return credential }
        throw .expired(at: moment)
      },
      delete: { request throws(StorageError) in
        try unchanged { () throws(StorageError) in try check(request.key) }
        return try await delete(request)
      },
      find: { query throws(StorageError) in
        try check(query)
        return try await find(query)
      })
  }
}

/// Sets the outcome of a refused change to `unchanged`.
private func unchanged(_ check: () throws(StorageError) -> Void) throws(StorageError) {
  do { try check() } catch { throw error.withOutcome(.unchanged) }
}
