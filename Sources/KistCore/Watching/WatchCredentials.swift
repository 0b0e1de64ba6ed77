/// The function that watches a storage.
public struct WatchCredentials: Sendable {
  /// Begins to watch, even a locked storage.
  ///
  /// Every change after it returns is reported.
  public var begin: @Sendable (WatchRequest) async throws(StorageError) -> CredentialChanges

  /// Makes a value from the function.
  public init(
    begin: @escaping @Sendable (WatchRequest) async throws(StorageError) -> CredentialChanges
  ) { self.begin = begin }

  /// Begins to watch the credentials of one service, or all credentials.
  public func callAsFunction(service: String? = nil) async throws(StorageError) -> CredentialChanges
  { try await begin(WatchRequest(service: service)) }

  /// Returns a value that throws this error, for a storage that cannot be watched or reached.
  public static func failing(_ error: StorageError) -> WatchCredentials {
    WatchCredentials { _ throws(StorageError) in throw error }
  }

  /// The value for a storage that does not report changes.
  public static let none = failing(.badRequest("this storage cannot be watched"))
}

/// A request to watch credentials.
public struct WatchRequest: Sendable {
  /// The service, compared byte by byte; `nil` for all services.
  public var service: String?

  /// Makes a request.
  public init(service: String? = nil) { self.service = service }

  /// Returns whether the watcher asked for this change.
  func matches(_ change: CredentialChange) -> Bool {
    guard let service, let key = change.key else { return true }
    return key.service.hasSameBytes(as: service)
  }
}
