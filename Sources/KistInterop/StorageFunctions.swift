package import KistCore

// What helpers do with a storage.
extension UserStorage {
  /// Returns the credential of a key, even if it has expired; `nil` if there is none.
  package func stored(_ key: CredentialKey) async throws(StorageError) -> Credential? {
    do throws(StorageError) {
      return try await load(LoadRequest(key: key, allowExpired: true))
    } catch {
      guard error.code == .notFound else { throw error }
      return nil
    }
  }

  /// Returns the unexpired credential of a key that a tool may use; `nil` if there is none at all.
  func usable(_ key: CredentialKey, for tool: Tool) async throws(StorageError) -> Credential? {
    do throws(StorageError) {
      let found = try await load(key)
      return found.summary.isMeant(for: tool) ? found : nil
    } catch {
      guard error.code == .notFound else { throw error.orSaveAgain }
      return nil
    }
  }

  /// Returns the newest unexpired credential of a service for a tool; `nil` if there is none at all.
  func newest(
    of service: String, for tool: Tool, at now: Timestamp
  ) async throws(StorageError) -> Credential? {
    let all = try await findAll(CredentialQuery(service: service))
    let found = all.filter { $0.isMeant(for: tool) }.newestFirst
    guard let newest = found.first else { return nil }
    return try await usable((found.first { !$0.isExpired(at: now) } ?? newest).key, for: tool)
  }

  /// Deletes a credential unless it changed since it was read; returns whether it was deleted.
  @discardableResult
  func deleteUnchanged(_ summary: CredentialSummary) async throws(StorageError) -> Bool {
    do throws(StorageError) {
      return try await delete(DeleteRequest(key: summary.key, ifRevision: summary.revision))
    } catch {
      guard error.code == .conflict else { throw error }
      return false
    }
  }

  /// Deletes a credential that a tool may use; returns whether there was one.
  func delete(_ key: CredentialKey, for tool: Tool) async throws(StorageError) -> Bool {
    guard let found = try await stored(key)?.summary, found.isMeant(for: tool) else { return false }
    return try await deleteUnchanged(found)
  }

  /// Saves a credential for a tool; returns whether anything had to be saved.
  ///
  /// A stored credential keeps its label and its other attributes; only its secret and expiry
  /// change. The same secret keeps its expiry, too. A new secret has only an expiry that the tool
  /// gives, because the stored one belongs to the old secret. Throws `conflict` if another tool saved
  /// the credential of that key.
  ///
  /// - Parameter kind: The attribute with the secret's kind, which is replaced with the secret.
  @discardableResult
  func save(
    _ new: NewCredential, kind: String? = nil, at now: Timestamp
  ) async throws(StorageError) -> Bool {
    func attempt() async throws(StorageError) -> Bool {
      guard let old = try await stored(new.key) else {
        try await save(new, if: .ifAbsent)
        return true
      }
      guard let credential = try new.replacing(old, kind, now) else { return false }
      try await save(credential, if: .ifRevision(old.summary.revision))
      return true
    }
    do throws(StorageError) { return try await attempt() } catch {
      // If it changed in between, try again with the new state.
      guard error.code == .conflict else { throw error }
      return try await attempt()
    }
  }
}

extension StorageError {
  /// This error; `expired` with another hint, because the usual one names an option of `kist load`.
  var orSaveAgain: StorageError {
    guard code == .expired else { return self }
    var error = self
    error.hint = "save a new one"
    return error
  }
}

extension NewCredential {
  /// Returns the credential that replaces an old one; `nil` if the old one is already equal.
  fileprivate func replacing(
    _ old: Credential, _ kind: String?, _ now: Timestamp
  ) throws(StorageError) -> NewCredential? {
    let tool = attributes[Attributes.toolName].map { CredentialOwner.tool($0) }
    guard old.summary.isSavedByHand || old.summary.owner == tool else {
      throw .refused(
        "another tool keeps a credential under this name; nothing was changed", as: .conflict,
        hint: "see it with `kist list --json`")
    }
    var new = keepingFields(of: old.summary, kind: kind)
    guard old.secret == secret, !old.summary.isExpired(at: now) else { return new }
    new.expiresAt = expiresAt ?? old.summary.expiresAt
    // A credential that the tool saved is saved again, so that it becomes the newest.
    let isSame =
      old.summary.isSavedByHand && new.attributes == old.summary.attributes
      && new.expiresAt == old.summary.expiresAt
    return isSame ? nil : new
  }
}

extension NewCredential {
  /// Returns the credential of a tool with the label and the other attributes of a stored one.
  ///
  /// A credential that the user saved keeps exactly its attributes, so that it belongs to no tool. So
  /// does an item of another program, so that this program still finds it. An item that replaces a
  /// credential of another kind has only its own attributes, for the same reason.
  ///
  /// - Parameter kind: The attribute with the secret's kind, which is replaced with the secret.
  func keepingFields(of stored: CredentialSummary, kind: String?) -> NewCredential {
    var credential = self
    credential.label = stored.label ?? label
    let isOfItem = stored.attributes.areOfItem
    if !isOfItem, attributes.areOfItem { return credential }
    let isUnchanged = stored.isSavedByHand || isOfItem
    credential.attributes =
      isUnchanged ? stored.attributes : stored.attributes.merging(attributes)
    if let kind { credential.attributes[kind] = attributes[kind] }
    return credential
  }
}

extension Attributes {
  /// The name of the tool that saved a credential; users and other programs save none.
  static let toolName = "tool"
}

extension Tool {
  /// The attributes of the credentials that it saves.
  var attributes: Attributes { [Attributes.toolName: rawValue] }
}

extension CredentialSummary {
  func isSaved(by tool: Tool) -> Bool { owner == .tool(tool.rawValue) }

  var isSavedByHand: Bool { owner == .user }

  /// Whether a tool may use it: no other tool saved it.
  func isMeant(for tool: Tool) -> Bool { isSavedByHand || isSaved(by: tool) }
}
