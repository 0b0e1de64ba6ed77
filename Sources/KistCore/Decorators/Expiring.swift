extension UserStorage {
  /// Answers `expired` to a load of a credential past its time, unless the request allows it.
  ///
  /// `find`, `delete` and conditions treat an expired credential as present.
  package func expiring(by now: @escaping @Sendable () -> Timestamp) -> UserStorage {
    var storage = self
    storage.load = { request throws(StorageError) in
      let credential = try await load(request)
      guard !request.allowExpired, let moment = credential.summary.expiresAt,
        credential.summary.isExpired(at: now())
      else { return credential }
      throw .expired(at: moment)
    }
    return storage
  }
}
