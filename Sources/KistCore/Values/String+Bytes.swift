extension String {
  /// Makes a string from UTF-8 bytes; `nil` where they are not valid.
  package init?(validating bytes: Span<UInt8>) {
    guard let utf8 = try? UTF8Span(validating: bytes) else { return nil }
    self.init(copying: utf8)
  }

  /// Makes a string from UTF-8 bytes, with U+FFFD in place of invalid bytes.
  package init(repairing bytes: Span<UInt8>) {
    self = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
  }

  /// Returns whether two strings have the same bytes in UTF-8.
  package func hasSameBytes(as other: String) -> Bool {
    withBytes { left in other.withBytes { right in left.hasSameBytes(as: right) } }
  }

  /// Calls the body with the UTF-8 bytes, which are valid only during the call.
  ///
  /// Do not use `utf8.span` instead. For a string of up to 15 bytes it points into a copy on the
  /// stack. In release builds, Swift 6.3 reuses that memory before the bytes are read.
  @inlinable package func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    let result = unsafe utf8.withContiguousStorageIfAvailable { utf8 in
      unsafe body(Span(_unsafeElements: utf8))
    }
    guard let result else { preconditionFailure("a string of Swift's own is contiguous") }
    return result
  }
}

extension String {
  /// Returns the path of an entry of this directory, also if the path of the directory ends with a
  /// slash, as `/` does.
  package func appendingPath(_ entry: String) -> String {
    (hasSuffix("/") ? self : self + "/") + entry
  }
}

extension String? {
  /// Returns whether both are `nil`, or have the same bytes in UTF-8.
  package func hasSameBytes(as other: String?) -> Bool {
    guard let self, let other else { return self == nil && other == nil }
    return self.hasSameBytes(as: other)
  }
}

extension StaticString {
  /// Calls the body with the UTF-8 bytes, which are valid only during the call.
  ///
  /// A string literal always has a pointer to them.
  @inlinable package func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    let utf8 = unsafe UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    let bytes = unsafe Span(_unsafeElements: utf8)
    return body(bytes)
  }
}
