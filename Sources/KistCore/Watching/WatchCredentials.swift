/// Watching a storage: a function from what is watched to its changes.
public struct WatchCredentials: Sendable {
  /// Begins to watch, a locked storage too: whatever is changed after it has returned is told.
  public var begin: @Sendable (WatchRequest) async throws(StorageError) -> CredentialChanges

  /// Makes the function a value.
  public init(
    begin: @escaping @Sendable (WatchRequest) async throws(StorageError) -> CredentialChanges
  ) { self.begin = begin }

  /// Begins to watch the credentials of a service, or all.
  public func callAsFunction(service: String? = nil) async throws(StorageError) -> CredentialChanges
  { try await begin(WatchRequest(service: service)) }

  /// Of a storage that cannot be watched, and of one that cannot be asked: every request is answered
  /// with why.
  public static func failing(_ error: StorageError) -> WatchCredentials {
    WatchCredentials { _ throws(StorageError) in throw error }
  }

  /// Of a storage that tells nobody of its changes.
  public static let none = failing(.badRequest("this storage cannot be watched"))
}

/// What `watch` is asked.
public struct WatchRequest: Sendable {
  /// The service, byte for byte; everything where it is `nil`.
  public var service: String?

  /// Makes a request.
  public init(service: String? = nil) { self.service = service }

  /// Whether a change is asked for.
  func matches(_ change: CredentialChange) -> Bool {
    guard let service, let key = change.key else { return true }
    return key.service.hasSameBytes(as: service)
  }
}
