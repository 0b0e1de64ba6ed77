/// The sizes that requests must keep to; version 1 of the protocol fixes them.
public enum Limits {
  /// Bytes of one line of the protocol, its newline not counted: 1 MiB.
  public static let line = 1 << 20
  /// Bytes of one secret: 512 KiB.
  public static let secret = 512 << 10
  /// Bytes of a service or an account.
  public static let keyPart = 1024
  /// Bytes of a label.
  public static let label = 1024
  /// Attributes of one credential.
  public static let attributes = 64
  /// Characters of an attribute's name.
  public static let attributeName = 64
  /// Bytes of an attribute's value.
  public static let attributeValue = 1024
  /// Bytes of all names and values of one credential's attributes: 16 KiB.
  public static let attributesTotal = 16 << 10
  /// Credentials on one page of a `find`.
  public static let page = 1000
  /// Changes that wait for one watcher; in place of more it is told `reset`.
  public static let watch = 1024
  /// Bytes of a passphrase.
  public static let passphrase = 1024
}
