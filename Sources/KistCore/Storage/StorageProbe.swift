/// The result of looking at a storage before its first use, without a prompt and without a write.
package enum StorageProbe: Sendable, Equatable {
  /// The storage is open, or opening would create it.
  ///
  /// The values report whether it contains credentials, and its id. The id is `nil` if there can be
  /// only one storage of its kind, or if opening would create it.
  case open(hasCredentials: Bool, id: String? = nil)
  /// The storage exists and is locked, so its contents are not known.
  case locked
  /// The storage cannot be used now; the error says why.
  case unusable(StorageError)
}
