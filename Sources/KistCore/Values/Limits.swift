/// The limits of requests, fixed by version 1 of the protocol.
public enum Limits {
  /// The bytes of one protocol line, without its newline: 1 MiB.
  public static let line = 1 << 20
  /// The bytes of one secret: 512 KiB.
  public static let secret = 512 << 10
  /// The bytes of a service or an account.
  public static let keyPart = 1024
  /// The bytes of a label.
  public static let label = 1024
  /// The number of attributes of one credential.
  public static let attributes = 64
  /// The bytes of an attribute's name: 64 characters of any script.
  public static let attributeName = 256
  /// The bytes of an attribute's value.
  public static let attributeValue = 1024
  /// The bytes of all attribute names and values of one credential: 16 KiB.
  public static let attributesTotal = 16 << 10
  /// The number of credentials on one page of a `find`.
  public static let page = 1000
  /// The number of changes that wait for one watcher; more are replaced by one `reset`.
  public static let watch = 1024
  /// The bytes of a passphrase.
  public static let passphrase = 1024
  /// The minimum bytes of a new passphrase, unless weak ones are allowed.
  public static let shortestNewPassphrase = 8
}
