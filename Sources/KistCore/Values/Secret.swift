/// Bytes that must not be seen: redacted wherever they would be printed, wiped when released.
///
/// Copies share one buffer, which is overwritten when the last of them goes. `Secret` is
/// deliberately not `Codable`; the wire and the storages encode it by hand.
public struct Secret: Sendable {
  @usableFromInline let storage: Storage

  @usableFromInline final class Storage: Sendable {
    @usableFromInline let bytes: WipedBytes
    init(_ bytes: consuming WipedBytes) { self.bytes = bytes }
  }

  /// The number of bytes.
  public var count: Int { storage.bytes.count }

  /// Whether there are no bytes; an empty secret is a secret.
  public var isEmpty: Bool { storage.bytes.count == 0 }

  /// Copies the bytes of a collection, which remain where they were.
  public init(copying bytes: some Collection<UInt8>) {
    var copy = WipedBytes(capacity: bytes.count)
    for byte in bytes { copy.append(byte) }
    self.init(copy)
  }

  /// Copies bytes, which remain where they were.
  package init(copying bytes: Span<UInt8>) {
    var copy = WipedBytes(capacity: bytes.count)
    copy.append(bytes)
    self.init(copy)
  }

  /// Copies the UTF-8 of a string, which remains where it was.
  public init(utf8 string: String) {
    var copy = WipedBytes(capacity: string.utf8.count)
    copy.append(utf8: string)
    self.init(copy)
  }

  /// Takes bytes over without a copy.
  package init(_ bytes: consuming WipedBytes) { storage = Storage(bytes) }

  /// Lends the bytes for the length of a call.
  @inlinable public func withBytes<Result, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // The span points into the buffer without keeping it: the last copy of the secret may be gone,
    // as far as the optimiser can see, once the span is made.
    defer { extendLifetime(storage) }
    return try storage.bytes.withBytes(body)
  }
}

extension Secret: Equatable {
  /// Compares in a time that depends on the lengths only.
  public static func == (left: Secret, right: Secret) -> Bool {
    guard left.count == right.count else { return false }
    return left.withBytes { leftBytes in
      right.withBytes { rightBytes in
        var difference: UInt8 = 0
        for offset in leftBytes.indices {
          difference |= leftBytes[offset] ^ rightBytes[offset]
        }
        return difference == 0
      }
    }
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always the same words.
  public var description: String { "<secret>" }
  /// Always the same words.
  public var debugDescription: String { description }
  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
