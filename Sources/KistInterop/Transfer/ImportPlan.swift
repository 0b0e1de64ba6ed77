package import KistCore

/// What an import would do, found out without a change.
package struct ImportPlan: Sendable {
  /// How a credential of the file stands beside what is stored.
  package enum State: String, CaseIterable, Sendable {
    /// Nothing of its name is stored.
    case new
    /// The same is stored.
    case same
    /// Something else of its name is stored.
    case differs
    /// Something else of its name is in the file, and that one stands; or another tool keeps it.
    case clash
  }

  /// One credential of the file.
  package struct Row: Sendable {
    package let entry: ForeignCredentials.Entry
    package fileprivate(set) var state = State.new
    fileprivate var stored: CredentialSummary?
  }

  /// All of them, in the order of the file.
  package private(set) var rows: [Row] = []
  /// What is not taken.
  package private(set) var leftOut: [LeftOut: [Int]]
  private let tellsAll: Bool
  private let firstIsTaken: Bool

  /// How many credentials stand so.
  package func count(_ state: State) -> Int { rows.count { $0.state == state } }

  /// Compares a file with what is stored.
  ///
  /// - Parameters:
  ///   - lastStands: whether of several with one name the last one stands, as if one were saved after
  ///     another; else the first.
  ///   - progress: is told how many of how many were compared.
  package init(
    of file: ForeignCredentials, lastStands: Bool, with storage: UserStorage,
    progress: (Int, Int) -> Void
  ) async throws(StorageError) {
    leftOut = file.leftOut
    tellsAll = file.tellsAll
    firstIsTaken = file.firstIsTaken
    choose(among: file.entries, lastStands: lastStands)
    var stored: [CredentialKey: CredentialSummary] = [:]
    for summary in try await allPages(of: CredentialQuery(), storage.find) {
      stored[summary.key] = summary
    }
    for index in rows.indices where rows[index].state == .new {
      rows[index].stored = stored[rows[index].entry.credential.key]
    }
    try await compare(storage.load, progress)
  }

  /// What is to be saved, each only if nothing else came in between.
  ///
  /// The helpers answer with the newest, so that the one that the file's program would take is last.
  package func changes(replacing: Bool) -> [SaveRequest] {
    let changes: [SaveRequest] = rows.compactMap { row in
      switch (row.state, row.stored) {
      case (.new, _): SaveRequest(credential: row.entry.credential, condition: .ifAbsent)
      case (.differs, let stored?) where replacing:
        SaveRequest(
          credential: tellsAll
            ? row.entry.credential : row.entry.credential.with(theRestOf: stored),
          condition: .ifRevision(stored.revision))
      default: nil
      }
    }
    return firstIsTaken ? changes.reversed() : changes
  }

  /// Whether all that the file has is stored once these are saved, so that nobody needs it any more.
  package func takesAll(with changes: [SaveRequest]) -> Bool {
    leftOut.keys.allSatisfy { $0 == .repeated } && rows.count == changes.count + count(.same)
  }

  private mutating func choose(among entries: [ForeignCredentials.Entry], lastStands: Bool) {
    var standing: [CredentialKey: Int] = [:]
    for entry in entries {
      guard let other = standing[entry.credential.key] else {
        standing[entry.credential.key] = rows.count
        rows.append(Row(entry: entry))
        continue
      }
      if entry.credential.isSame(as: rows[other].entry.credential, inAll: tellsAll) {
        leftOut[.repeated, default: []].append(entry.place)
        continue
      }
      rows.append(Row(entry: entry, state: lastStands ? .new : .clash))
      if lastStands {
        rows[other].state = .clash
        standing[entry.credential.key] = rows.count - 1
      }
    }
  }

  private mutating func compare(
    _ load: @escaping Load, _ progress: (Int, Int) -> Void
  ) async throws(StorageError) {
    let indices = rows.indices.filter { rows[$0].stored != nil }
    var compared = 0
    for some in indices.portions {
      let keys = some.map { rows[$0].entry.credential.key }
      let loaded = await concurrently(keys) { key throws(StorageError) in
        try await KistInterop.stored(key, load)
      }
      for (index, result) in zip(some, loaded) {
        guard let credential = try result.get() else {
          rows[index].stored = nil
          continue
        }
        rows[index].stored = credential.summary
        let isSame = rows[index].entry.credential.isSame(
          as: NewCredential(credential), inAll: tellsAll)
        let isAnothers =
          !tellsAll && rows[index].entry.credential.isOfAnotherTool(than: credential.summary)
        rows[index].state = isSame ? .same : isAnothers ? .clash : .differs
      }
      compared += some.count
      progress(compared, indices.count)
    }
  }
}

extension NewCredential {
  fileprivate init(_ stored: Credential) {
    let summary = stored.summary
    self.init(
      key: summary.key, secret: stored.secret, label: summary.label,
      attributes: summary.attributes, expiresAt: summary.expiresAt)
  }

  /// Whether there is nothing to choose between two of one name: of a file that tells only secrets,
  /// label and attributes are nobody's word.
  fileprivate func isSame(as other: NewCredential, inAll: Bool) -> Bool {
    guard secret == other.secret else { return false }
    return !inAll
      || (label == other.label && attributes == other.attributes && expiresAt == other.expiresAt)
  }

  /// Whether a tool keeps what is stored, and this is another one's, which would take it away.
  fileprivate func isOfAnotherTool(than stored: CredentialSummary) -> Bool {
    guard let tool = attributes[Attributes.toolName] else { return false }
    return !stored.isSavedByHand && stored.tool != tool
  }

  /// The secret of a file that tells no more, with what else is known of it: what a person saved stays
  /// theirs.
  fileprivate func with(theRestOf stored: CredentialSummary) -> NewCredential {
    var credential = self
    credential.label = stored.label ?? label
    if attributes.isEmpty || stored.isSavedByHand { credential.attributes = stored.attributes }
    return credential
  }
}
