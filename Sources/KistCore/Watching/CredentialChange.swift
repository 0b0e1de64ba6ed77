/// A change that is reported to a watcher, without the secret.
public enum CredentialChange: Hashable, Sendable {
  /// The credential of this key was saved, under this revision.
  case saved(CredentialKey, Revision)
  /// The credential of this key was deleted, under this revision where the storage has one.
  case deleted(CredentialKey, Revision?)
  /// Anything may have changed; read everything again with `find`.
  case reset

  /// The key, where the change is about one key.
  public var key: CredentialKey? {
    switch self {
    case .saved(let key, _), .deleted(let key, _): key
    case .reset: nil
    }
  }

  /// The revision of the change, where it has one.
  public var revision: Revision? {
    switch self {
    case .saved(_, let revision): revision
    case .deleted(_, let revision): revision
    case .reset: nil
    }
  }
}
