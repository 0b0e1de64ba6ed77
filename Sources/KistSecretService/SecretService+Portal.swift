package import KistCore
internal import KistInterop

/// The answer to an application that asks the portal for its secret.
package enum PortalAnswer: Sendable {
  case secret(Secret)
  /// The user did not unlock kist, or the application no longer waits.
  case cancelled
  /// kist is locked, and the user cannot be asked.
  case locked
}

extension SecretService {
  /// Returns the secret of a sandboxed application, which kist makes at the first request.
  ///
  /// The application encrypts a file with it. So a locked kist never makes a new one.
  ///
  /// - Parameters:
  ///   - request: The path by which the portal can cancel the request.
  ///   - stop: Ends the task of the caller, which may have a window open.
  package func applicationSecret(
    of application: String, request: String, for client: String,
    stop: @escaping @Sendable () -> Void = {}
  ) async throws(ServiceError) -> PortalAnswer {
    guard request.hasPrefix(ObjectPath.requests), portalRequests[request] == nil else {
      throw .invalid("the handle must be a new path below \(ObjectPath.requests)")
    }
    let attributes: Attributes = [
      Attributes.schemaName: Attributes.portalSchema, Attributes.applicationName: application,
    ]
    guard let key = naturalKey(ofItemWith: attributes) else {
      throw .invalid(
        "the identifier of an application may have \(Limits.keyPart) bytes and no control "
          + "characters")
    }
    if !(try await isOpen()) {
      guard await functions.asking.canAsk() else { return .locked }
      guard try await unlock(for: request, of: client, stop) else { return .cancelled }
    }
    return .secret(try await storedSecret(at: key, attributes))
  }

  /// Asks the user to unlock kist, and returns whether it is unlocked.
  private func unlock(
    for request: String, of client: String, _ stop: @escaping @Sendable () -> Void
  ) async throws(ServiceError) -> Bool {
    let prompt = try makePrompt(to: .unlock([]), for: client)
    portalRequests[request] = PortalRequest(client: client, prompt: prompt)
    defer { portalRequests[request] = nil }
    try beginPrompt(prompt, for: client, window: "")
    keep(stop, of: prompt)
    await showPrompt(prompt)
    return try await isOpen()
  }

  /// Ends the request of an application that no longer waits.
  package func cancelRequest(_ path: String, of client: String) throws(ServiceError) {
    guard let request = portalRequests[path], request.client == client else { throw .noSuchObject }
    try dismissPrompt(request.prompt, for: client)
  }

  private func storedSecret(
    at key: CredentialKey, _ attributes: Attributes
  ) async throws(ServiceError) -> Secret {
    try await ready()
    for _ in 0..<Self.attempts {
      do throws(ServiceError) {
        return try await perform { () throws(StorageError) in
          try await functions.storage.load(key).secret
        }
      } catch { guard error == .noSuchObject else { throw error } }
      let new = NewCredential(
        item: attributes, label: "", secret: .ofApplication(), contentType: Attributes.plainText,
        key: key, mark: Attributes.newItemMark())
      if try await save(new, if: .ifAbsent) { return new.secret }
    }
    throw .overLimit("other programs keep changing the secret; nothing was saved")
  }
}

/// A request of the portal that waits for the user.
struct PortalRequest {
  let client: String
  let prompt: String
}

extension Secret {
  /// Makes 64 random bytes: libsecret in a sandbox takes no other number.
  fileprivate static func ofApplication() -> Secret {
    var bytes = WipedBytes(capacity: 64)
    for _ in 0..<64 { bytes.append(UInt8.random(in: .min ... .max)) }
    return Secret(bytes)
  }
}
