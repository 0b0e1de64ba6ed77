extension String {
  /// The text that bytes are in UTF-8; `nil` where they are none.
  package init?(validating bytes: Span<UInt8>) {
    guard let utf8 = try? UTF8Span(validating: bytes) else { return nil }
    self.init(copying: utf8)
  }

  /// The text that bytes are in UTF-8, with U+FFFD in the place of what is none.
  package init(repairing bytes: Span<UInt8>) {
    self = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
  }

  /// Whether two strings are the same sequence of bytes in UTF-8.
  package func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// Lends the UTF-8 for the length of a call.
  ///
  /// Not as `utf8.span`: of a string of up to 15 bytes that points into a copy on the stack, whose
  /// place Swift 6.3 gives to something else, in release builds, before the bytes are read.
  @inlinable package func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    let result = unsafe utf8.withContiguousStorageIfAvailable { utf8 in
      let bytes = unsafe Span(_unsafeElements: utf8)
      return body(bytes)
    }
    guard let result else { preconditionFailure("a string of Swift's own is contiguous") }
    return result
  }
}

extension StaticString {
  /// Lends the UTF-8 for the length of a call.
  @inlinable package func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    withUTF8Buffer { utf8 in
      let bytes = unsafe Span(_unsafeElements: utf8)
      return body(bytes)
    }
  }
}
