internal import KistCore

/// Where a page begins: after the row of an address, among all rows or among those of one service.
struct Cursor: Sendable {
  /// The address of the last row before the page; less than all where there is none.
  let address: Int64
  /// The last address that is asked for.
  let end: Int64
  /// The service whose rows are asked for; `nil` for all.
  private let service: Tag?

  /// Reads the cursor of a query; `badRequest` when it is not one of this query.
  init(_ query: CredentialQuery, _ keys: StoreKeys) throws(StorageError) {
    service = query.service.map(keys.serviceTag)
    let range = service.map { RowAddresses(ofService: $0).range } ?? RowAddresses.all
    end = range.upperBound
    guard let text = query.after else {
      address = range.lowerBound - 1
      return
    }
    guard let address = Self.address(of: text), range.contains(address) else {
      throw .badRequest("`after` is not a cursor of this query")
    }
    self.address = address
  }

  /// Whether a row behind it is one of those that are asked for.
  func isFollowed(by tag: RowTag) -> Bool { service == nil || tag.service == service }

  /// The cursor of what comes after a row: its address in hexadecimal, of 16 digits.
  static func text(of address: Int64) -> String {
    let digits = String(address, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  private static func address(of text: String) -> Int64? {
    guard let address = Int64(text, radix: 16), RowAddresses.all.contains(address),
      Self.text(of: address) == text
    else {
      return nil
    }
    return address
  }
}
