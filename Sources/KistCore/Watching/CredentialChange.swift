/// What a watcher is told: that a credential was changed, and never its secret.
public enum CredentialChange: Hashable, Sendable {
  /// The credential of this key was saved, under this revision.
  case saved(CredentialKey, Revision)
  /// The credential of this key was deleted; the mark of that, where the storage has one.
  case deleted(CredentialKey, Revision?)
  /// Anything may have changed: what was read earlier is to be read again, with `find`.
  case reset

  /// The key, where the change is of one.
  public var key: CredentialKey? {
    switch self {
    case .saved(let key, _), .deleted(let key, _): key
    case .reset: nil
    }
  }

  /// The mark of the change, where it has one.
  public var revision: Revision? {
    switch self {
    case .saved(_, let revision): revision
    case .deleted(_, let revision): revision
    case .reset: nil
    }
  }
}
