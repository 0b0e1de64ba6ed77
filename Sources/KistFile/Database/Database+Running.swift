internal import KistCore

extension Database {
  /// Whether a statement goes on to the next row.
  enum Next { case more, enough }

  /// Runs a statement and lends its rows, until there are no more or the body has enough.
  func run(
    _ sql: StaticString, _ values: [SQLValue] = [],
    rows body: (SQLColumns) throws(StorageError) -> Next
  ) throws(StorageError) {
    let statement = try statement(sql)
    // An unfinished statement would hold its snapshot of the database.
    defer { statement.reset() }
    for (index, value) in values.enumerated() { statement.bind(value, at: CInt(index + 1)) }
    while let columns = try statement.next() {
      if try body(columns) == .enough { return }
    }
  }

  /// Runs a statement whose rows, if it gives any, are of no interest.
  func run(_ sql: StaticString, _ values: SQLValue...) throws(StorageError) {
    try run(sql, values) { _ in .more }
  }
}
