internal import KistCore

/// Saves a credential for a tool; returns whether there was something to save.
///
/// One that a person saved stays theirs: it takes the secret and its time, and keeps its label and its
/// attributes. Throws `conflict` where another tool has one of that key, which it would be missing.
///
/// - Parameter kind: the attribute that says what the secret is, which goes with it.
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
    // Where it changed after it was looked at, what it is by now decides.
    guard error.code == .conflict else { throw error }
    return try await attempt()
  }
}

extension NewCredential {
  /// What is to be saved in the place of another; `nil` where that one says all of this already.
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
