package import KistCore

/// Moves all credentials from one storage to another.
///
/// They are copied and compared, then the pin is switched, then they are removed. Wherever it is cut
/// off, each of them is in the storage that counts, and running it again finishes it.
package struct Migration: Sendable {
  package var source: UserStorage
  package var target: UserStorage
  /// Whether the target is what counts already: then only what was left in the source is removed.
  package var isSwitched: Bool
  /// Writes down that the target is what counts.
  package var switchPin: @Sendable () throws(StorageError) -> Void
  /// Told how many of how many credentials were copied, or removed.
  package var report: @Sendable (Step, _ done: Int, _ of: Int) -> Void

  /// What is being done.
  package enum Step: String, Sendable {
    case copied, removed
  }

  /// What became of it.
  package enum Outcome: Sendable, Equatable {
    /// So many credentials are in the target now, and none in the source.
    case moved(Int)
    /// These are in the source and not, or not the same, in the target; nothing was removed.
    case differing([CredentialKey])
  }

  package init(
    from source: UserStorage, to target: UserStorage, isSwitched: Bool,
    switchPin: @escaping @Sendable () throws(StorageError) -> Void,
    report: @escaping @Sendable (Step, Int, Int) -> Void = { _, _, _ in }
  ) {
    self.source = source
    self.target = target
    self.isSwitched = isSwitched
    self.switchPin = switchPin
    self.report = report
  }

  package func run() async throws(StorageError) -> Outcome {
    let summaries = try await source.findAll()
    var differing: [CredentialKey] = []
    for (number, summary) in summaries.enumerated() {
      let credential = try await source.load(LoadRequest(key: summary.key, allowExpired: true))
      if try await !isKept(credential) { differing.append(summary.key) }
      report(.copied, number + 1, summaries.count)
    }
    guard differing.isEmpty else { return .differing(differing) }
    if !isSwitched { try switchPin() }
    for (number, summary) in summaries.enumerated() {
      _ = try await source.delete(
        DeleteRequest(key: summary.key, ifRevision: summary.revision))
      report(.removed, number + 1, summaries.count)
    }
    return .moved(summaries.count)
  }

  /// Whether the target has this credential, to which it is copied unless its key is there already.
  ///
  /// Once the target counts, what is not there any more was deleted, and is not brought back.
  private func isKept(_ credential: Credential) async throws(StorageError) -> Bool {
    let request = LoadRequest(key: credential.summary.key, allowExpired: true)
    do throws(StorageError) {
      return try await target.load(request).hasSameContent(as: credential)
    } catch {
      guard error.code == .notFound else { throw error }
    }
    guard !isSwitched else { return false }
    try await target.save(NewCredential(copying: credential), if: .ifAbsent)
    guard try await target.load(request).hasSameContent(as: credential) else {
      throw .internal("a copy is not the same as its original; nothing was removed")
    }
    return true
  }
}

extension NewCredential {
  /// What a credential was saved as; its revision and its times begin anew.
  fileprivate init(copying credential: Credential) {
    self.init(
      key: credential.summary.key, secret: credential.secret, label: credential.summary.label,
      attributes: credential.summary.attributes, expiresAt: credential.summary.expiresAt)
  }
}

extension Credential {
  fileprivate func hasSameContent(as other: Credential) -> Bool {
    NewCredential(copying: self) == NewCredential(copying: other)
  }
}
