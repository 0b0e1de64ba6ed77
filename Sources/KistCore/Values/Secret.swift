/// Secret bytes, redacted wherever they are printed and wiped when released.
///
/// Copies share one buffer, which is overwritten when the last copy is released. `Secret` is
/// deliberately not `Codable`; the protocol and the storages encode it explicitly.
public struct Secret: Sendable {
  @usableFromInline let storage: Storage

  @usableFromInline final class Storage: Sendable {
    @usableFromInline let bytes: WipedBytes
    init(_ bytes: consuming WipedBytes) { self.bytes = bytes }
  }

  /// The number of bytes.
  public var count: Int { storage.bytes.count }

  /// Whether there are no bytes; an empty secret is valid.
  public var isEmpty: Bool { storage.bytes.count == 0 }

  /// Copies the bytes of a collection, which keeps its own bytes.
  public init(copying bytes: some Collection<UInt8>) {
    var copy = WipedBytes(capacity: bytes.count)
    for byte in bytes { copy.append(byte) }
    self.init(copy)
  }

  /// Copies bytes; the source keeps its own.
  package init(copying bytes: Span<UInt8>) {
    var copy = WipedBytes(capacity: bytes.count)
    copy.append(bytes)
    self.init(copy)
  }

  /// Copies the UTF-8 of a string, which keeps its own bytes.
  public init(utf8 string: String) {
    var copy = WipedBytes(capacity: string.utf8.count)
    copy.append(utf8: string)
    self.init(copy)
  }

  /// Takes ownership of bytes without a copy.
  package init(_ bytes: consuming WipedBytes) { storage = Storage(bytes) }

  /// Calls the body with the bytes, which are valid only during the call.
  @inlinable public func withBytes<Result, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // The span points into the buffer but does not keep it alive. Without this line, the optimiser
    // may release the last copy of the secret once the span is made.
    defer { extendLifetime(storage) }
    return try storage.bytes.withBytes(body)
  }
}

extension Secret: Equatable {
  /// Compares in a time that depends only on the lengths.
  public static func == (left: Secret, right: Secret) -> Bool {
    guard left.count == right.count else { return false }
    return left.withBytes { leftBytes in
      right.withBytes { rightBytes in
        leftBytes.indices.reduce(0 as UInt8) { $0 | (leftBytes[$1] ^ rightBytes[$1]) } == 0
      }
    }
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A fixed text that never contains the bytes.
  public var description: String { "<secret>" }
  /// A fixed text that never contains the bytes.
  public var debugDescription: String { description }
  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
