import KistCore
import Synchronization

/// The promises about the answer to one request.
struct Check {
  /// How long a machine trusts a confirmed head.
  static let trustsAbsenceFor = Duration.seconds(1)

  let key: CredentialKey
  let operation: Operation
  let history: History
  /// The step and the time at which the request began.
  let start: Int
  let startTime: Duration
  /// Whether the cluster does not lie.
  ///
  /// A cluster that lies can hide all news, so that an old state
  /// looks like the newest one.
  let isStrict: Bool

  /// Returns what is wrong with the answer to a save; `nil` for nothing.
  func saved(
    _ secret: Secret, _ answer: Result<CredentialSummary, StorageError>, until end: Int
  ) -> String? {
    let made = operation.made.withLock(\.self)
    switch answer {
    case .success(let summary):
      guard made.count == 1, summary.revision.sequence == made[0],
        history.secret(of: key, at: made[0]) == secret
      else { return "an answered save is not in the history exactly once, but \(made)" }
      return nil
    case .failure(let error): return failed(error, made, until: end)
    }
  }

  /// Returns what is wrong with the answer to a delete.
  func deleted(_ answer: Result<Bool, StorageError>, until end: Int) -> String? {
    let made = operation.made.withLock(\.self)
    switch answer {
    case .success(true):
      return made.count == 1 ? nil : "an answered delete is in the history \(made.count) times"
    case .success(false):
      if !made.isEmpty { return "a delete without effect is in the history" }
      return wasAbsent(until: end) ? nil : "the credential was there all the time"
    case .failure(let error): return failed(error, made, until: end)
    }
  }

  private func failed(_ error: StorageError, _ made: [UInt64], until end: Int) -> String? {
    switch error.outcome {
    case nil: return "a failed change has no outcome: \(error)"
    case .unchanged:
      if !made.isEmpty { return "an unchanged change is in the history: \(error)" }
    case .unknown: if made.count > 1 { return "one change is in the history twice" }
    }
    if error.code == .conflict, isStrict {
      let known: UInt64? =
        switch error.current {
        case .absent: 0
        case .revision(let revision): revision.sequence
        case nil: nil
        }
      guard let known, history.sequences(of: key, from: start, to: end).contains(known) else {
        return "a conflict names a state that the credential did not have"
      }
    }
    return nil
  }

  /// Returns what is wrong with the answer to a load.
  func loaded(
    _ answer: Result<Credential, StorageError>, fresh: Bool, until end: Int
  ) -> String? {
    switch answer {
    case .success(let credential):
      guard let sequence = credential.summary.revision.sequence,
        history.secret(of: key, at: sequence) == credential.secret
      else { return "the secret is wrong" }
      if fresh, isStrict, !history.sequences(of: key, from: start, to: end).contains(sequence) {
        return "a fresh load is of an older change"
      }
      return nil
    case .failure(let error):
      if error.outcome != nil { return "a failed load has an outcome" }
      guard error.code == .notFound, isStrict else { return nil }
      let since = fresh ? startTime : startTime - Self.trustsAbsenceFor
      return history.sequences(of: key, since: since).contains(0)
        ? nil : "the credential was there all the time"
    }
  }

  private func wasAbsent(until end: Int) -> Bool {
    !isStrict || history.sequences(of: key, from: start, to: end).contains(0)
  }
}
