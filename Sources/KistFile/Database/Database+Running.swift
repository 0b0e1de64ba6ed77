internal import KistCore

extension Database {
  /// Whether a statement continues with the next row.
  enum Next { case more, enough }

  /// Runs a statement and calls the body with each row, until the body returns `enough`.
  func run(
    _ sql: StaticString, _ values: [SQLValue] = [],
    rows body: (SQLColumns) throws(StorageError) -> Next
  ) throws(StorageError) {
    let statement = try statement(sql)
    // An unfinished statement would keep its snapshot of the database.
    defer { statement.reset() }
    for (index, value) in values.enumerated() { statement.bind(value, at: CInt(index + 1)) }
    while let columns = try statement.next() {
      if try body(columns) == .enough { return }
    }
  }

  /// Runs a statement and ignores its rows.
  func run(_ sql: StaticString, _ values: SQLValue...) throws(StorageError) {
    try run(sql, values) { _ in .more }
  }
}
