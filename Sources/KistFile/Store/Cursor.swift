internal import KistCore

/// The start of a page: after the row at an address, among all rows or those of one service.
struct Cursor: Sendable {
  /// The address of the last row before the page; below all addresses for the first page.
  let address: Int64
  /// The last address of the query.
  let end: Int64
  /// The service of the query; `nil` for all services.
  private let service: Tag?

  /// Reads the cursor of a query; throws `badRequest` when it is not a cursor of this query.
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

  /// Returns whether a later row belongs to the query.
  func isFollowed(by tag: RowTag) -> Bool { service == nil || tag.service == service }

  /// Returns the cursor for the rows after an address: 16 hexadecimal digits.
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
