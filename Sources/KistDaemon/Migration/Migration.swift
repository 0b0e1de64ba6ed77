package import KistCore

/// Moves all credentials from one storage to another.
///
/// It copies and compares them, then switches the pin, then removes them. If it is interrupted,
/// every credential is in the storage that counts, and the next run finishes it.
package struct Migration: Sendable {
  package var source: UserStorage
  package var target: UserStorage
  /// Whether the pin already names the target; then only leftovers in the source are removed.
  package var isSwitched: Bool
  /// Whether the source keeps its credentials, because another store also uses it.
  package var keepsSource: Bool
  /// Records that the target is the storage that counts.
  package var switchPin: @Sendable () throws(StorageError) -> Void
  /// Called with the number of credentials that were compared, copied or removed, and the total.
  package var report: @Sendable (Step, _ done: Int, _ of: Int) -> Void

  /// A step of the migration.
  package enum Step: String, Sendable {
    case compared, copied, removed
  }

  /// The outcome of the migration.
  package enum Outcome: Sendable, Equatable {
    /// The target counts, and has this many credentials that are no longer in the source.
    ///
    /// A source that keeps its credentials still has them. Those in `left` are in the source only,
    /// or differ.
    case moved(Int, left: [CredentialKey])
    /// These credentials differ in the target; nothing was copied, switched or removed.
    case differing([CredentialKey])
    /// These are damaged in one of the storages; nothing was copied, switched or removed.
    case damaged([CredentialKey])
  }

  package init(
    from source: UserStorage, to target: UserStorage, isSwitched: Bool, keepsSource: Bool = false,
    switchPin: @escaping @Sendable () throws(StorageError) -> Void,
    report: @escaping @Sendable (Step, Int, Int) -> Void = { _, _, _ in }
  ) {
    self.source = source
    self.target = target
    self.isSwitched = isSwitched
    self.keepsSource = keepsSource
    self.switchPin = switchPin
    self.report = report
  }

  package func run() async throws(StorageError) -> Outcome {
    var (same, missing, differing, damaged) = try await compare()
    guard damaged.isEmpty else { return .damaged(damaged) }
    let total = same.count + missing.count + differing.count
    if !isSwitched {
      guard differing.isEmpty else { return .differing(differing) }
      for (number, key) in missing.enumerated() {
        same.append(try await copy(key))
        report(.copied, number + 1, missing.count)
      }
      try switchPin()
    } else {
      // Once the target counts, a missing credential was deleted there, and must not come back.
      differing += missing
    }
    for (number, summary) in same.enumerated() where !keepsSource {
      do throws(StorageError) {
        _ = try await source.delete(DeleteRequest(key: summary.key, ifRevision: summary.revision))
      } catch {
        // Another program has changed it since it was compared.
        guard error.code == .conflict else { throw error }
        differing.append(summary.key)
      }
      report(.removed, number + 1, same.count)
    }
    return .moved(total - differing.count, left: differing)
  }

  /// Compares all credentials before the first is copied.
  ///
  /// A copy becomes outdated while the source stays in use.
  private func compare() async throws(StorageError) -> (
    same: [CredentialSummary], missing: [CredentialKey], differing: [CredentialKey],
    damaged: [CredentialKey]
  ) {
    let keys = try await source.findAll().map(\.key)
    var same: [CredentialSummary] = []
    var missing: [CredentialKey] = []
    var differing: [CredentialKey] = []
    var damaged: [CredentialKey] = []
    for (number, key) in keys.enumerated() {
      let request = LoadRequest(key: key, allowExpired: true)
      do throws(StorageError) {
        let original = try await source.load(request)
        if let copy = try await target.loadIfThere(request) {
          if copy.hasSameContent(as: original) {
            same.append(original.summary)
          } else {
            differing.append(key)
          }
        } else {
          missing.append(key)
        }
      } catch {
        guard error.code == .corrupt else { throw error }
        damaged.append(key)
      }
      report(.compared, number + 1, keys.count)
    }
    return (same, missing, differing, damaged)
  }

  /// Copies a credential that the target lacks, reads it back, and returns the original.
  private func copy(_ key: CredentialKey) async throws(StorageError) -> CredentialSummary {
    let request = LoadRequest(key: key, allowExpired: true)
    let original = try await source.load(request)
    try await target.save(NewCredential(copying: original), if: .ifAbsent)
    guard try await target.load(request).hasSameContent(as: original) else {
      throw .internal("a copy is not the same as its original; nothing was removed")
    }
    return original.summary
  }
}

extension UserStorage {
  /// Loads a credential; `nil` if there is none.
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
  /// Returns whether all bytes are the same.
  ///
  /// `==` would treat `\u{e9}` and `e\u{301}` in a label as equal.
  fileprivate func hasSameContent(as other: Credential) -> Bool {
    NewCredential(copying: self) == NewCredential(copying: other)
      && (summary.label ?? "").hasSameBytes(as: other.summary.label ?? "")
  }
}
