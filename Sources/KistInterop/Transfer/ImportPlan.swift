package import KistCore
internal import KistJSON

/// The changes that an import would make; finding them changes nothing.
package struct ImportPlan: Sendable {
  /// The state of a credential of the file, compared with the stored ones.
  package enum State: String, CaseIterable, Sendable {
    case new, same, differs
    /// Another entry of this name takes precedence, or another tool saved the stored credential.
    case clash
  }

  /// One credential of the file.
  package struct Row: Sendable {
    package let entry: ForeignCredentials.Entry
    package fileprivate(set) var state = State.new
    fileprivate var stored: CredentialSummary?
  }

  /// All credentials, in the order of the file.
  package private(set) var rows: [Row] = []
  /// The parts that are not imported.
  package private(set) var leftOut: [LeftOut: [Int]]
  /// The new credentials after whose import a tool may get another credential than before.
  ///
  /// The same account is stored under the other name of the host: a bare host and its https URL. Or
  /// the service has another account: helpers answer with the newest one, which is then the new one.
  package private(set) var neighbours: [(new: CredentialKey, stored: CredentialKey)] = []
  private let file: ForeignCredentials

  /// Returns the number of credentials in a state.
  package func count(_ state: State) -> Int { rows.count { $0.state == state } }

  /// The number of credentials that do not count, because another one in the file has their name.
  package var clashesInFile: Int { rows.count { $0.state == .clash && $0.stored == nil } }

  /// Compares a file with the stored credentials.
  ///
  /// - Parameters:
  ///   - lastCounts: Whether the last of several credentials with one name counts, as if they were
  ///     saved one after another; otherwise the first counts.
  ///   - progress: Called with the number of compared credentials and their total.
  package init(
    of file: ForeignCredentials, lastCounts: Bool, with storage: UserStorage,
    progress: (Int, Int) -> Void
  ) async throws(StorageError) {
    self.file = file
    leftOut = file.leftOut
    choose(lastCounts: lastCounts)
    var stored: [CredentialKey: CredentialSummary] = [:]
    for summary in try await storage.findAll() {
      stored[summary.key] = summary
    }
    for index in rows.indices where rows[index].state == .new {
      rows[index].stored = stored[rows[index].entry.credential.key]
    }
    let newest = Dictionary(grouping: stored.values, by: \.key.service)
      .compactMapValues { $0.newestFirst.first?.key }
    neighbours = rows.compactMap { row in
      guard row.state == .new, row.stored == nil else { return nil }
      let key = row.entry.credential.key
      let other = key.withOtherNameOfHost
      let neighbour = stored[other] == nil ? newest[key.service] : other
      return neighbour.map { (new: key, stored: $0) }
    }
    try await compare(with: storage, progress)
  }

  /// Returns the credentials to save, each on the condition that nothing changed in between.
  ///
  /// Helpers answer with the newest credential, so the one that the file's program uses comes last.
  package func changes(replacing: Bool) -> [SaveRequest] {
    let changes: [SaveRequest] = rows.compactMap { row in
      switch (row.state, row.stored) {
      case (.new, _): SaveRequest(credential: row.entry.credential, condition: .ifAbsent)
      case (.differs, let stored?) where replacing:
        SaveRequest(
          credential: file.isComplete
            ? row.entry.credential
            : row.entry.credential.keepingFields(of: stored, kind: GitMessage.authtype),
          condition: .ifRevision(stored.revision), keep: file.isComplete ? [] : .expiresAt)
      default: nil
      }
    }
    return file.firstIsTaken ? changes.reversed() : changes
  }

  /// Whether these changes store everything that is in the file, so that it is no longer needed.
  package func takesAll(with changes: [SaveRequest]) -> Bool {
    leftOut.keys.allSatisfy { $0 == .repeated } && rows.count == changes.count + count(.same)
  }

  private mutating func choose(lastCounts: Bool) {
    var counting: [CredentialKey: Int] = [:]
    for entry in file.entries {
      guard let other = counting[entry.credential.key] else {
        counting[entry.credential.key] = rows.count
        rows.append(Row(entry: entry))
        continue
      }
      if entry.credential.isSame(as: rows[other].entry.credential, inAll: file.isComplete) {
        leftOut[.repeated, default: []].append(entry.place)
        continue
      }
      rows.append(Row(entry: entry, state: lastCounts ? .new : .clash))
      if lastCounts {
        rows[other].state = .clash
        counting[entry.credential.key] = rows.count - 1
      }
    }
  }

  private mutating func compare(
    with storage: UserStorage, _ progress: (Int, Int) -> Void
  ) async throws(StorageError) {
    let indices = rows.indices.filter { rows[$0].stored != nil }
    var compared = 0
    for some in indices.portions {
      let keys = some.map { rows[$0].entry.credential.key }
      let loaded = await concurrently(keys, storage.stored)
      for (index, result) in zip(some, loaded) {
        let old = try result.get()
        rows[index].stored = old?.summary
        if let old { rows[index].state = state(of: rows[index].entry.credential, beside: old) }
      }
      compared += some.count
      progress(compared, indices.count)
    }
  }

  private func state(of new: NewCredential, beside old: Credential) -> State {
    // A program finds its item only by the item's own attributes.
    let isFound = !new.attributes.areOfItem || old.summary.attributes.areOfItem
    if isFound, new.isSame(as: NewCredential(old), inAll: file.isComplete) { return .same }
    return !file.isComplete && new.isOfAnotherTool(than: old.summary) ? .clash : .differs
  }
}

extension NewCredential {
  fileprivate init(_ stored: Credential) {
    let summary = stored.summary
    self.init(
      key: summary.key, secret: stored.secret, label: summary.label,
      attributes: summary.attributes, expiresAt: summary.expiresAt)
  }

  /// Whether two credentials of one name are equal.
  ///
  /// If a file has no labels, attributes and expiry times, only the secrets are compared.
  fileprivate func isSame(as other: NewCredential, inAll: Bool) -> Bool {
    guard secret == other.secret else { return false }
    return !inAll
      || (label == other.label && attributes == other.attributes && expiresAt == other.expiresAt)
  }

  fileprivate func isOfAnotherTool(than stored: CredentialSummary) -> Bool {
    let owner = CredentialOwner(of: key, attributes)
    guard case .tool = owner else { return false }
    return !stored.isSavedByHand && stored.owner != owner
  }
}

extension CredentialKey {
  /// The key with `https://` added to its service, or removed from it.
  fileprivate var withOtherNameOfHost: CredentialKey {
    let scheme = "https://"
    let isURL = service.hasPrefix(scheme)
    return CredentialKey(
      service: isURL ? String(service.dropFirst(scheme.count)) : scheme + service, account: account)
  }
}

extension ImportPlan.Row {
  /// Returns the text of one JSON object, without the secret.
  package func json() -> Secret {
    JSONWriter.object { writer in
      writer.member("state", state.rawValue)
      writer.member("service", entry.credential.key.service)
      writer.member("account", entry.credential.key.account)
      writer.member("label", entry.credential.label)
      writer.member("place", entry.place)
    }
  }
}

extension ImportPlan {
  /// Returns the text of one JSON object with the results.
  package func json(saved: Int) -> Secret {
    JSONWriter.object { writer in
      writer.member("saved", saved)
      for state in State.allCases { writer.member(escaping: state.rawValue, count(state)) }
      writer.member("leftOut") { writer in
        for what in LeftOut.allCases {
          if let places = leftOut[what] { writer.member(escaping: what.rawValue, places.count) }
        }
      }
    }
  }
}
