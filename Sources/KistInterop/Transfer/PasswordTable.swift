internal import KistCore

/// The column names of a password manager's CSV file, in lower case; some have alternatives.
struct PasswordTable {
  var title = ["title"]
  var url = ["url"]
  var username = ["username"]
  var password = "password"
  /// The columns that are reported as left out if they have a value, besides unknown columns.
  var leftOut: [String: LeftOut] = [:]
  var unasked: [String] = []
  /// The column with the kind of an entry; only the kind `login` is imported.
  var kind: String?
  /// The column that says whether an entry is archived.
  var archived: String?
  /// Whether one field may have several URLs, separated by commas.
  var hasSeveralURLs = false

  /// Bitwarden, "Condition a Bitwarden .csv"; takes the first URL of a `login_uri` with several.
  static let bitwarden = PasswordTable(
    title: ["name"], url: ["login_uri"], username: ["login_username"], password: "login_password",
    leftOut: ["notes": .note, "login_totp": .oneTimePassword, "fields": .furtherFields],
    unasked: ["folder", "favorite", "reprompt"], kind: "type", hasSeveralURLs: true)
  /// 1Password's CSV files, versions 7 and 8.
  static let onePassword = PasswordTable(
    url: ["url", "urls", "website"],
    leftOut: ["notes": .note, "otpauth": .oneTimePassword, "one-time password": .oneTimePassword],
    unasked: ["favorite", "tags"], archived: "archived")
  /// KeePassXC's src/format/CsvExporter.cpp.
  static let keepassxc = PasswordTable(
    leftOut: ["notes": .note, "totp": .oneTimePassword],
    unasked: ["group", "icon", "last modified", "created"])
  /// Chromium's components/password_manager/core/browser/export; also for Edge, Brave and Opera.
  static let chrome = PasswordTable(title: ["name"], leftOut: ["note": .note])
  /// Firefox's toolkit/components/passwordmgr/LoginExport.sys.mjs.
  static let firefox = PasswordTable(
    title: [],
    unasked: [
      "httprealm", "formactionorigin", "guid", "timecreated", "timelastused", "timepasswordchanged",
    ])
}

func credentials(
  in text: Secret, of table: PasswordTable
) throws(StorageError) -> ForeignCredentials {
  var file = ForeignCredentials()
  var header: (columns: [String: Int], unknown: [Int], count: Int)?
  try text.forEachRow { (fields, line) throws(StorageError) in
    guard let (columns, unknown, count) = header else {
      header = (try table.columns(in: fields), table.unknownColumns(in: fields), fields.count)
      return
    }
    // An unquoted comma splits a password into two fields. If the fields after it are empty, the
    // only sign is one field too many.
    guard fields.count == count else {
      throw .unreadable("there are more or fewer fields than the first line names", line: line)
    }
    func field(_ name: String) -> Secret? {
      guard let index = columns[name], !fields[index].isEmpty else { return nil }
      return fields[index]
    }
    func text(_ names: [String]) throws(StorageError) -> String? {
      try names.lazy.compactMap(field).first?.text(of: "a field", line: line)
    }
    if let kind = table.kind, let name = try text([kind]), name != "login" {
      return file.leaveOut(.notALogin, at: line)
    }
    var entry = PasswordEntry(
      title: try text(table.title),
      username: try text(table.username), password: field(table.password),
      leftOut: Set(table.leftOut.filter { field($0.key) != nil }.map(\.value)))
    for urls in table.url.compactMap(field) {
      entry.take(table.hasSeveralURLs ? urls.firstURL : urls)
      if table.hasSeveralURLs, urls.hasComma { entry.leftOut.insert(.furtherURLs) }
    }
    if unknown.contains(where: { !fields[$0].isEmpty }) { entry.leftOut.insert(.furtherFields) }
    entry.isArchived =
      table.archived.flatMap(field).map { $0.isWord("true") || $0.isWord("1") } ?? false
    try entry.add(to: &file, at: line)
  }
  guard header != nil else { throw .unreadable("there is nothing in it") }
  return file
}

extension PasswordTable {
  /// Returns the place of each column, by the names in the first row.
  fileprivate func columns(in fields: [Secret]) throws(StorageError) -> [String: Int] {
    var columns: [String: Int] = [:]
    for name in names { columns[name] = fields.firstIndex { $0.isWord(name) } }
    guard columns[password] != nil, url.contains(where: { columns[$0] != nil }) else {
      throw .unreadable("the first line does not name the columns of this format")
    }
    return columns
  }

  /// Returns the columns of other programs or later versions.
  fileprivate func unknownColumns(in fields: [Secret]) -> [Int] {
    fields.indices.filter { !(names + unasked).contains(where: fields[$0].isWord) }
  }

  private var names: [String] {
    title + url + username + [password] + leftOut.keys + [kind, archived].compactMap(\.self)
  }
}

extension Secret {
  private static let mostFields = 128

  /// Lends the fields of each row of a CSV file (RFC 4180), and the number of its first line.
  ///
  /// Lines are counted from 1; blank lines are skipped.
  func forEachRow(_ body: ([Secret], Int) throws(StorageError) -> Void) throws(StorageError) {
    try withBytes { (bytes) throws(StorageError) in
      var (offset, line) = (bytes.afterByteOrderMark, 1)
      var (fields, start): ([Secret], Int) = ([], 1)
      while offset < bytes.count {
        let field = try nextField(of: bytes, at: &offset, line: &line)
        guard fields.count < Self.mostFields else {
          throw .unreadable("a row of more than \(Self.mostFields) fields", line: start)
        }
        fields.append(field)
        if offset < bytes.count, bytes[offset] == UInt8(ascii: ",") {
          offset += 1
          // After a comma at the very end there is an empty field.
          if offset < bytes.count { continue }
          fields.append(Secret(utf8: ""))
        }
        if fields.count > 1 || !fields[0].isEmpty { try body(fields, start) }
        fields = []
        if offset < bytes.count, bytes[offset] == UInt8(ascii: "\r") { offset += 1 }
        if offset < bytes.count, bytes[offset] == UInt8(ascii: "\n") {
          offset += 1
          line += 1
        }
        start = line
      }
    }
  }
}

/// Reads a field up to the comma or the end of the line after it.
private func nextField(
  of bytes: Span<UInt8>, at offset: inout Int, line: inout Int
) throws(StorageError) -> Secret {
  guard bytes[offset] == UInt8(ascii: "\"") else {
    let start = offset
    while offset < bytes.count, !isEndOfField(bytes[offset]) { offset += 1 }
    return Secret(copying: bytes.extracting(start..<offset))
  }
  var field = WipedBytes()
  let start = line
  offset += 1
  while offset < bytes.count {
    let byte = bytes[offset]
    offset += 1
    if byte == UInt8(ascii: "\"") {
      guard offset < bytes.count, bytes[offset] == byte else {
        guard offset == bytes.count || isEndOfField(bytes[offset]) else {
          throw .unreadable("there is text after a quoted field", line: line)
        }
        return Secret(field)
      }
      offset += 1
    }
    if byte == UInt8(ascii: "\n") { line += 1 }
    field.append(byte)
  }
  throw .unreadable("a quote is not closed", line: start)
}

private func isEndOfField(_ byte: UInt8) -> Bool { ",\n\r".utf8.contains(byte) }
