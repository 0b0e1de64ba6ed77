internal import KistCore

// The functions of a storage. A helper takes only those that it needs.
typealias Save = @Sendable (SaveRequest) async throws(StorageError) -> CredentialSummary
typealias Load = @Sendable (LoadRequest) async throws(StorageError) -> Credential
typealias Delete = @Sendable (DeleteRequest) async throws(StorageError) -> Bool
typealias Find = @Sendable (CredentialQuery) async throws(StorageError) -> CredentialPage

/// Returns the credential of a key, even if it has expired; `nil` if there is none.
func stored(_ key: CredentialKey, _ load: Load) async throws(StorageError) -> Credential? {
  do throws(StorageError) {
    return try await load(LoadRequest(key: key, allowExpired: true))
  } catch {
    guard error.code == .notFound else { throw error }
    return nil
  }
}

/// Returns the credential of a key that a tool may use; `nil` if there is none.
///
/// Throws if it has expired.
func usable(
  _ key: CredentialKey, for tool: Tool, _ load: Load
) async throws(StorageError) -> Credential? {
  do throws(StorageError) {
    let found = try await load(LoadRequest(key: key))
    return found.summary.isMeant(for: tool) ? found : nil
  } catch {
    guard error.code == .notFound else { throw error.orSaveAgain }
    return nil
  }
}

/// Deletes a credential unless it changed since it was read; returns whether it did.
@discardableResult
func delete(_ summary: CredentialSummary, _ delete: Delete) async throws(StorageError) -> Bool {
  do throws(StorageError) {
    return try await delete(DeleteRequest(key: summary.key, ifRevision: summary.revision))
  } catch {
    guard error.code == .conflict else { throw error }
    return false
  }
}

/// Deletes a credential that a tool may use; returns whether there was one.
func delete(
  _ key: CredentialKey, for tool: Tool, load: Load, delete: Delete
) async throws(StorageError) -> Bool {
  guard let found = try await stored(key, load)?.summary, found.isMeant(for: tool) else {
    return false
  }
  return try await KistInterop.delete(found, delete)
}

extension StorageError {
  /// This error with another hint, because the usual hint of `expired` names an option of `kist
  /// load`.
  var orSaveAgain: StorageError {
    guard code == .expired else { return self }
    var error = self
    error.hint = "save a new one"
    return error
  }
}

/// Returns the newest unexpired credential of a service for a tool; `nil` if the service has none.
///
/// Throws if all have expired.
func newest(
  of service: String, for tool: Tool, now: Timestamp, find: Find, load: Load
) async throws(StorageError) -> Credential? {
  let all = try await allPages(of: CredentialQuery(service: service), find)
  let found = all.filter { $0.isMeant(for: tool) }.newestFirst
  guard let newest = found.first else { return nil }
  return try await usable((found.first { !$0.isExpired(at: now) } ?? newest).key, for: tool, load)
}

extension [CredentialSummary] {
  /// The credentials by time of save, the latest first; ties are ordered by revision, else by key.
  var newestFirst: [CredentialSummary] {
    sorted { left, right in
      if left.modifiedAt != right.modifiedAt { return left.modifiedAt > right.modifiedAt }
      return left.revision.isLater(than: right.revision) ?? (left.key < right.key)
    }
  }
}

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

extension Attributes {
  /// The name of the tool that saved a credential.
  ///
  /// Users and other programs save credentials without it.
  static let toolName = "tool"
}

extension CredentialSummary {
  var tool: String? { attributes[Attributes.toolName] }

  func isSaved(by tool: Tool) -> Bool {
    self.tool == tool.rawValue
  }

  var isSavedByHand: Bool { tool == nil }

  /// Whether a tool may use it: no other tool saved it.
  func isMeant(for tool: Tool) -> Bool { isSavedByHand || isSaved(by: tool) }
}
