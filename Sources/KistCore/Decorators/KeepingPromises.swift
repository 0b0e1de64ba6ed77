extension UserStorage {
  /// The promises that every storage makes alike: what exceeds the limits of the protocol reaches
  /// nothing, and a credential past its time is `expired` unless the request allows it.
  ///
  /// Each opening function applies this last, so that what it gives keeps the contract by itself. One
  /// function for both, since each one around a load costs it 1 %. `find`, `delete` and conditions
  /// treat an expired credential as present.
  package func keepingPromises(now: @escaping @Sendable () -> Timestamp) -> UserStorage {
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

/// Says of a refused change that nothing was changed.
private func unchanged(_ check: () throws(StorageError) -> Void) throws(StorageError) {
  do { try check() } catch { throw error.withOutcome(.unchanged) }
}
