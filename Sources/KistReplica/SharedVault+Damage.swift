package import KistCluster
package import KistCore
internal import KistShared
internal import KistVault

extension SharedVault {
  /// Returns those of some credentials whose rows in the cluster are missing, damaged or older.
  ///
  /// They can be loaded from the copy on this machine, and saved again. Throws `busy` if the copy does not
  /// have the newest state of the vault.
  ///
  /// - Parameters:
  ///   - credentials: what the copy on this machine has.
  ///   - revision: the last change that this machine knew before it read them.
  ///   - note: the note beside that copy.
  package static func damaged(
    among credentials: [CredentialSummary], at revision: Revision, note: [UInt8]?,
    on cluster: Cluster, _ options: ReplicaOptions
  ) async throws(StorageError) -> [CredentialSummary] {
    let known = try KnownVault(noted: note, by: options.machine)
    let last = try await cluster.verifiedChanges(after: known, for: options.machine).last
    guard last.state.revision == revision else { throw .notNewest }
    let keys = last.keys
    var revisions: [RecordID: Revision] = [:]
    for byte in UInt8.min ... .max {
      let first = ListRequest(generation: keys.generation, firstByte: byte)
      try await cluster.eachPage(from: first) { rows throws(StorageError) in
        for row in rows {
          guard let opened = try? keys.openRow(row.bytes, key: row.key),
            (try? keys.store.authenticate(opened)) != nil
          else { continue }
          revisions[row.key] = last.state.epoch.revision(of: opened.identity.sequence)
        }
      }
    }
    return credentials.filter { credential in
      let found = revisions[RecordID(keys.store.tag(of: credential.key).key)]
      return found.map { credential.revision.isLater(than: $0) != false } ?? true
    }
  }
}

extension StorageError {
  fileprivate static let notNewest = StorageError(
    .busy, "the copy on this machine does not have the newest state of the vault",
    hint: "try again, or run the command on another machine")
}
