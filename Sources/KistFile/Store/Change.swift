internal import KistCore

/// What the writer is asked to do.
enum Change: Sendable {
  case save(SaveRequest)
  case delete(DeleteRequest)

  /// What became of it.
  enum Effect: Sendable {
    case saved(CredentialSummary)
    /// Whether there was anything to delete.
    case deleted(Bool)
  }

  typealias Answer = Result<Effect, StorageError>

  var key: CredentialKey {
    switch self {
    case .save(let request): request.credential.key
    case .delete(let request): request.key
    }
  }

  /// What must hold of the key.
  var condition: Condition {
    switch self {
    case .save(let request): request.condition
    case .delete(let request): request.ifRevision.map { .ifRevision($0) } ?? .always
    }
  }
}
