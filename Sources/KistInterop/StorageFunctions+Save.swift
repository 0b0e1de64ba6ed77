internal import KistCore

/// Saves a credential for a tool; returns whether anything had to be saved.
///
/// A credential that the user saved keeps its label and attributes; only its secret and expiry
/// change. Throws `conflict` if another tool owns the credential of that key, because it would lose
/// it.
///
/// - Parameter kind: The attribute with the kind of the secret; it changes with the secret.
@discardableResult
func save(
  _ new: NewCredential, kind: String? = nil, now: Timestamp, load: Load, save: Save
) async throws(StorageError) -> Bool {
  func attempt() async throws(StorageError) -> Bool {
    guard let old = try await stored(new.key, load) else {
      _ = try await save(SaveRequest(credential: new, condition: .ifAbsent))
      return true
    }
    guard let credential = try new.replacing(old, kind, now) else { return false }
    _ = try await save(
      SaveRequest(credential: credential, condition: .ifRevision(old.summary.revision)))
    return true
  }
  do throws(StorageError) { return try await attempt() } catch {
    // If it changed in between, try again with the new state.
    guard error.code == .conflict else { throw error }
    return try await attempt()
  }
}

extension NewCredential {
  /// Returns the credential that replaces an old one; `nil` if the old one is already equal.
  fileprivate func replacing(
    _ old: Credential, _ kind: String?, _ now: Timestamp
  ) throws(StorageError) -> NewCredential? {
    guard old.summary.isSavedByHand else {
      guard old.summary.tool == attributes[Attributes.toolName] else { throw .anotherTools }
      return self
    }
    var attributes = old.summary.attributes
    if let kind { attributes[kind] = self.attributes[kind] }
    let isSameTime = expiresAt == nil || expiresAt == old.summary.expiresAt
    if old.secret == secret, isSameTime, !old.summary.isExpired(at: now),
      attributes == old.summary.attributes
    {
      return nil
    }
    return NewCredential(
      key: key, secret: secret, label: old.summary.label, attributes: attributes,
      expiresAt: expiresAt)
  }
}

extension StorageError {
  fileprivate static var anotherTools: StorageError {
    StorageError(
      .conflict, "another tool keeps a credential under this name; nothing was changed",
      hint: "see it with `kist list --json`", outcome: .unchanged)
  }
}
