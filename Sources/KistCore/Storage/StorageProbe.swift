/// The result of looking at a storage before its first use, without a prompt and without a write.
package enum StorageProbe: Sendable, Equatable {
  /// The storage is open, or opening would create it.
  ///
  /// The value reports whether it contains credentials.
  case open(hasCredentials: Bool)
  /// The storage exists and is locked, so its contents are not known.
  case locked
  /// The storage cannot be used now; the error says why.
  case unusable(StorageError)
}
