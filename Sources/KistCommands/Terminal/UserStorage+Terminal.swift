internal import KistCore

// These checks report an error before the user is asked for anything.
extension UserStorage {
  /// Requests one credential.
  ///
  /// If that fails, throws the error with the outcome `unchanged`, because it is reported as the
  /// error of a change.
  func checkIsOpen() async throws(StorageError) {
    do throws(StorageError) { _ = try await find(CredentialQuery(limit: 1)) } catch {
      throw error.withOutcome(.unchanged)
    }
  }

  /// Throws the error that a save with any secret would throw; otherwise returns the stored
  /// credential.
  func checkTakes(
    _ request: SaveRequest, at now: Timestamp
  ) async throws(StorageError) -> CredentialSummary? {
    try request.credential.checkNames()
    let key = request.credential.key
    let found = try await findAll(CredentialQuery(service: key.service, account: key.account))
    let stored = found.first { $0.key == key }
    try request.condition.check(against: stored?.revision)
    _ = try request.credential(keepingPartsOf: stored, at: now)
    return stored
  }

  /// If a request fails with `locked`, offers to unlock the storage, and then sends the request
  /// again.
  ///
  /// Even a change can be sent again, because a request that failed with `locked` did nothing.
  /// Requests that run at the same time share one offer.
  func offeringToUnlock(_ access: StorageAccess, at terminal: Terminal) -> UserStorage {
    let offers = UnlockOffers(access, terminal)
    return UserStorage(
      save: unlocking(offers, save), load: unlocking(offers, load),
      delete: unlocking(offers, delete), find: unlocking(offers, find))
  }
}

private func unlocking<Input: Sendable, Output: Sendable>(
  _ offers: UnlockOffers,
  _ request: @escaping @Sendable (Input) async throws(StorageError) -> Output
) -> @Sendable (Input) async throws(StorageError) -> Output {
  { input throws(StorageError) in
    let count = await offers.count
    do throws(StorageError) { return try await request(input) } catch {
      guard error.code == .locked, try await offers.answer(because: error, after: count) else {
        throw error
      }
      return try await request(input)
    }
  }
}

/// Offers to unlock, one offer at a time; makes no more offers after the user declines one.
private actor UnlockOffers {
  private(set) var count = 0
  private var latest: Task<Result<Bool, StorageError>, Never>?
  private var mayOffer = true
  private let access: StorageAccess
  private let terminal: Terminal

  init(_ access: StorageAccess, _ terminal: Terminal) {
    self.access = access
    self.terminal = terminal
  }

  /// Makes an offer and returns its answer.
  ///
  /// Makes no new offer if the latest one is still open, was declined, or was answered after the
  /// request began. Then returns the answer of the latest offer.
  ///
  /// - Parameter count: the number of answered offers when the request began.
  func answer(because error: StorageError, after count: Int) async throws(StorageError) -> Bool {
    if let latest, !mayOffer || count < self.count { return try await latest.value.get() }
    mayOffer = false
    let task = Task { [access, terminal] () -> Result<Bool, StorageError> in
      do throws(StorageError) {
        return .success(try await access.offerToUnlock(because: error, at: terminal))
      } catch { return .failure(error) }
    }
    latest = task
    let answer = await task.value
    self.count += 1
    if case .success(true) = answer { mayOffer = true }
    return try answer.get()
  }
}

extension StorageAccess {
  /// Returns whether the user unlocked the storage.
  ///
  /// The user types the passphrase. If the storage has a key file, or its provider has its own
  /// prompt, the user only confirms. The question begins with the reason why the storage is locked.
  /// It asks nothing if the storage is damaged, or if kistd cannot open it with its key file.
  func offerToUnlock(
    because error: StorageError, at terminal: Terminal
  ) async throws(StorageError) -> Bool {
    var passphrase: Secret?
    let status = try await status()
    let way = status.unlocksWith
    // The user must first repair something; or the key file is missing, or opens another store.
    if status.problem != nil || (way == .keyFile && !status.reopensAtRestart) { return false }
    // A file that was missing may be there again.
    let message = way == .keyFile ? "the storage is locked" : error.message
    let reason = message.prefix(1).uppercased() + message.dropFirst()
    if way == .passphrase {
      passphrase = try terminal.askHidden("\(reason). Passphrase of the encrypted file: ")
      if passphrase?.isEmpty == true { return false }
    } else {
      let question =
        switch way {
        case .keyFile: "Unlock the encrypted file? kistd has its key."
        case .provider: "Unlock the keyring? Its program asks for its password."
        default: "Unlock the storage?"
        }
      let answer = try terminal.ask("\(reason). \(question) [Y/n] ")
      guard ["", "y", "yes"].contains(answer.lowercased()) else { return false }
    }
    _ = try await unlock(passphrase)
    return true
  }
}
