/// What a look at a storage told before anything was asked of it: without a prompt, without a write.
package enum StorageProbe: Sendable, Equatable {
  /// It is there, and open, or would be made when it is opened; whether credentials are in it.
  case open(hasCredentials: Bool)
  /// It is there, and locked: what is in it is not known.
  case locked
  /// It cannot be used as things stand; the error says why.
  case unusable(StorageError)
}
