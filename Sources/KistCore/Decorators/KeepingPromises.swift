extension UserStorage {
  /// The promises that every storage makes alike, in their order: limits outermost, so that what
  /// exceeds them reaches nothing; expiry next to the storage, whose answers it judges.
  ///
  /// Each opening function applies this last, so that what it gives keeps the contract by itself.
  package func keepingPromises(now: @escaping @Sendable () -> Timestamp) -> UserStorage {
    expiring(by: now).limited()
  }
}
