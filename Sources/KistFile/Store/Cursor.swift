internal import KistCore

/// Where a page begins: after the row of a tag, among all rows or among those of one service.
struct Cursor: Sendable {
  /// The last row before the page; zeros where there is none.
  let tag: RowTag
  /// Whether only rows of the tag's service are asked for.
  let isOfOneService: Bool

  /// Reads the cursor of a query; `badRequest` when it is not one of this query.
  init(_ query: CredentialQuery, _ keys: StoreKeys) throws(StorageError) {
    let service = query.service.map(keys.serviceTag)
    isOfOneService = service != nil
    guard let text = query.after else {
      tag = RowTag(service: service ?? .zero, key: .zero)
      return
    }
    guard let tag = Self.tag(of: text), service == nil || service == tag.service else {
      throw .badRequest("`after` is not a cursor of this query")
    }
    self.tag = tag
  }

  /// The cursor of what comes after a row: its tag in hexadecimal.
  static func text(of tag: RowTag) -> String {
    [tag.service, tag.key].reduce(into: "") { text, tag in
      for index in tag.bytes.indices {
        let byte = tag.bytes[index]
        text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }
  }

  private static func tag(of text: String) -> RowTag? {
    let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard digits.count == text.utf8.count, digits.count == 4 * Tag.size else { return nil }
    let bytes = stride(from: 0, to: digits.count, by: 2).map {
      UInt8(digits[$0] * 16 + digits[$0 + 1])
    }
    guard
      let service = Tag(bytes.span.extracting(..<Tag.size)),
      let key = Tag(bytes.span.extracting(Tag.size...))
    else { return nil }
    return RowTag(service: service, key: key)
  }
}
