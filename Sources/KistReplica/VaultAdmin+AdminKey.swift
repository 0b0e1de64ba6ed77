package import KistCore
internal import KistShared
internal import KistSodium

extension VaultAdmin {
  /// Makes another key the only admin key of the vault, except for recovery keys; returns the machines.
  ///
  /// Changes nothing if it is that key already. Throws `denied` if this key may not sign the roster, or
  /// if this machine may not change the vault.
  ///
  /// - Parameter new: the public key.
  /// - Parameter note: the note beside the copy of the vault on this machine.
  package func replaceAdminKey(
    by new: [UInt8], note: [UInt8]?
  ) async throws(StorageError) -> [SharedVault.Machine] {
    var known = try KnownVault(noted: note, by: options.machine)
    do throws(StorageError) { known = try await changes(after: known).last } catch {
      throw error.unchanged
    }
    guard new != key.publicKey else { throw .sameAdmin }
    func admins(of roster: Roster) -> [[UInt8]] {
      [new] + roster.members.map(\.keys.signing).filter(roster.admins.contains)
    }
    let roster = known.roster.roster
    if Set(roster.admins) != Set(admins(of: roster)) {
      _ = try await replaceRoster(after: known) { known throws(StorageError) in
        (admins(of: known.roster.roster), known.roster.roster.members)
      }
      // Also with those that were added meanwhile.
      do throws(StorageError) { known = try await changes(after: known).last } catch {
        throw error.withOutcome(.unknown)
      }
    }
    return try known.keys.machines(in: known.roster.roster)
  }
}

extension StorageError {
  fileprivate static let sameAdmin = refused(
    "the new admin key is the former one", hint: "name another file for the new key")
}
