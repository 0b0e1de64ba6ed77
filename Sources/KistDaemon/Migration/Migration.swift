internal import KistCore

/// Moves all credentials from one storage to another.
///
/// It copies and compares them, then switches the pin, then removes them. If it is interrupted,
/// every credential is in the storage in use, and the next run finishes the migration.
struct Migration: Sendable {
  var source: UserStorage
  var target: UserStorage
  /// Whether the pin already names the target; then only leftovers in the source are removed.
  var isSwitched: Bool
  /// Whether the source keeps its credentials, because another store also uses it.
  var keepsSource = false
  /// Records that the target is now the storage in use.
  var switchPin: @Sendable () throws(StorageError) -> Void
  /// Called with the number of credentials that were compared, copied or removed, and the total.
  var report: @Sendable (Step, _ done: Int, _ of: Int) -> Void = { _, _, _ in }

  enum Step: String { case compared, copied, removed }

  enum Outcome: Sendable, Equatable {
    /// The target is now in use, and has this many of the credentials.
    ///
    /// They are no longer in the source, unless the source keeps its credentials. Those in `left`
    /// are in the source only, or differ.
    case moved(Int, left: [CredentialKey])
    /// These credentials differ in the target; nothing was copied, switched or removed.
    case differing([CredentialKey])
    /// These credentials are damaged in a storage; nothing was copied, switched or removed.
    case damaged([CredentialKey])
  }

  func run() async throws(StorageError) -> Outcome {
    var found = try await compare()
    guard found.damaged.isEmpty else { return .damaged(found.damaged) }
    let total = found.same.count + found.missing.count + found.differing.count
    if !isSwitched {
      guard found.differing.isEmpty else { return .differing(found.differing) }
      // Helpers answer with the newest credential of a host, so they answer with the same one afterwards.
      for (number, summary) in found.missing.newestFirst.reversed().enumerated() {
        found.same.append(try await copy(summary.key))
        report(.copied, number + 1, found.missing.count)
      }
      try switchPin()
    } else {
      // Once the target is in use, a credential that it lacks was deleted, and must not come back.
      found.differing += found.missing.map(\.key)
    }
    for (number, summary) in found.same.enumerated() where !keepsSource {
      do throws(StorageError) {
        _ = try await source.delete(DeleteRequest(key: summary.key, ifRevision: summary.revision))
      } catch {
        // Another program has changed the credential since it was compared.
        guard error.code == .conflict else { throw error }
        found.differing.append(summary.key)
      }
      report(.removed, number + 1, found.same.count)
    }
    return .moved(total - found.differing.count, left: found.differing)
  }

  private struct Comparison {
    var same: [CredentialSummary] = []
    var missing: [CredentialSummary] = []
    var differing: [CredentialKey] = []
    var damaged: [CredentialKey] = []
  }

  /// Compares all credentials before copying any, since an original may change after its copy.
  private func compare() async throws(StorageError) -> Comparison {
    let summaries = try await source.findAll()
    var found = Comparison()
    for (number, summary) in summaries.enumerated() {
      let key = summary.key
      let request = LoadRequest(key: key, allowExpired: true)
      do throws(StorageError) {
        let original = try await source.load(request)
        switch try await target.loadIfThere(request)?.hasSameContent(as: original) {
        case true?: found.same.append(original.summary)
        case false?: found.differing.append(key)
        case nil: found.missing.append(original.summary)
        }
      } catch {
        guard error.code == .corrupt else { throw error }
        found.damaged.append(key)
      }
      report(.compared, number + 1, summaries.count)
    }
    return found
  }

  /// Copies a credential that the target lacks, reads it back, and returns the original.
  private func copy(_ key: CredentialKey) async throws(StorageError) -> CredentialSummary {
    let request = LoadRequest(key: key, allowExpired: true)
    let original = try await source.load(request)
    try await target.save(NewCredential(copying: original), if: .ifAbsent)
    guard try await target.load(request).hasSameContent(as: original) else {
      throw .internal("a copy differs from its original; nothing was removed")
    }
    return original.summary
  }

  func runAsCommand() async throws(StorageError) -> Outcome {
    do throws(StorageError) { return try await run() } catch {
      guard error.code == .locked else { throw error }
      throw .locked(error.message, hint: "run `kistd migrate` again, which unlocks it")
    }
  }
}

extension UserStorage {
  fileprivate func loadIfThere(_ request: LoadRequest) async throws(StorageError) -> Credential? {
    do throws(StorageError) { return try await load(request) } catch {
      guard error.code == .notFound else { throw error }
      return nil
    }
  }
}

extension NewCredential {
  /// Creates a copy of a credential; its revision and its times start again.
  fileprivate init(copying credential: Credential) {
    self.init(
      key: credential.summary.key, secret: credential.secret, label: credential.summary.label,
      attributes: credential.summary.attributes, expiresAt: credential.summary.expiresAt)
  }
}

extension Credential {
  /// Returns whether all bytes are the same; `==` treats `\u{e9}` and `e\u{301}` as equal.
  fileprivate func hasSameContent(as other: Credential) -> Bool {
    NewCredential(copying: self) == NewCredential(copying: other)
      && (summary.label ?? "").hasSameBytes(as: other.summary.label ?? "")
  }
}
