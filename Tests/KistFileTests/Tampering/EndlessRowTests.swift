import Foundation
import GRDB
import KistCore
import KistFile
import KistTesting
import Testing

/// A file of a few pages can claim a row of any length, whose pages lead in a circle.
@Suite(.timeLimit(.minutes(10))) struct `A row with a forged length` {
  let store = try! TestStore()

  @Test(arguments: ["service_tag", "key_tag", "metadata", "secret"])
  func `is refused before it is read`(column: String) async throws {
    try await store.fill(threeCredentials)
    try store.plantEndlessValue(of: column)
    let opened = try await store.open()
    let error = await expect(.corrupt) { try await opened.credentials.load(.sample) }
    // SQLITE_TOOBIG: what is read and found wrong fails authentication.
    #expect(error?.message.contains("SQLite error 18") == true)
    for credential in threeCredentials.dropFirst() {
      let loaded = try await opened.credentials.load(credential.key)
      #expect(loaded.secret == credential.secret)
    }
    await expect(.corrupt) { try await opened.credentials.findAll() }
    await opened.close()
    let found = try store.examine()
    #expect(found.good == 2 && !found.faults.isEmpty)
  }
}

extension TestStore {
  /// Has a column of the sample's row claim a hundred megabytes, in a file that has as many, of which few
  /// are on the disk.
  fileprivate func plantEndlessValue(of column: String) throws {
    var rows: [Row] = []
    try meddle { rows = try Row.fetchAll($0, sql: "SELECT * FROM credential ORDER BY address") }
    let claimed = 100 << 20
    let circle = try bytes().count / 4096 + 1
    try meddleWithPage { page in
      var end = 4096
      for (index, row) in rows.enumerated() {
        let isSample = row["sequence"] == 1
        let cell = cell(of: row, isSample ? column : nil, claiming: claimed, circle)
        end -= cell.count
        page.replaceSubrange(end..<end + cell.count, with: cell)
        page.replaceSubrange(
          8 + 2 * index..<10 + 2 * index, with: [UInt8(end >> 8), UInt8(end & 0xFF)])
      }
      page.replaceSubrange(1..<8, with: [0, 0, 0, 3, UInt8(end >> 8), UInt8(end & 0xFF), 0])
    }
    let pages = (claimed << 1) / 4096
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seek(toOffset: UInt64(circle - 1) * 4096)
    try file.write(contentsOf: number(circle))
    try file.seek(toOffset: 28)
    try file.write(contentsOf: number(pages))
    try file.truncate(atOffset: UInt64(pages) * 4096)
    try file.close()
  }
}

/// A cell of the table's page (https://sqlite.org/fileformat2.html#b_tree_pages); the rest of a row that is
/// longer than its page is on the page of this number.
private func cell(of row: Row, _ column: String?, claiming claimed: Int, _ rest: Int) -> [UInt8] {
  let names = ["service_tag", "key_tag", "sequence", "metadata", "secret"]
  var types: [UInt8] = [0]
  var values: [UInt8] = []
  var size = 0
  for name in names {
    if name == "sequence" {
      types.append(1)
      values.append(row[name])
      size += 1
      continue
    }
    let value = [UInt8](row[name] as Data)
    let length = name == column ? claimed : value.count
    types += varint(12 + 2 * length)
    values += value
    size += length
  }
  let header = [UInt8(types.count + 1)] + types
  size += header.count
  // How much of a row is in the table's page, by the format.
  let least = (4096 - 12) * 32 / 255 - 23
  let inPage = least + (size - least) % 4092
  let isWhole = size <= 4061
  let local = isWhole ? size : inPage <= 4061 ? inPage : least
  var payload = header + values
  payload += [UInt8](repeating: 0, count: max(0, local - payload.count))
  return varint(size) + varint(Int(row["address"] as Int64)) + payload.prefix(local)
    + (isWhole ? [] : number(rest))
}

/// An integer of SQLite's format: seven bits in each byte, the most significant first.
private func varint(_ value: Int) -> [UInt8] {
  if value >> 56 != 0 {
    return (0..<8).map { UInt8(truncatingIfNeeded: value >> (57 - 7 * $0)) | 0x80 }
      + [UInt8(truncatingIfNeeded: value)]
  }
  var bytes = [UInt8(value & 0x7F)]
  var rest = value >> 7
  while rest > 0 {
    bytes.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
    rest >>= 7
  }
  return bytes
}

private func number(_ value: Int) -> [UInt8] {
  (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
}
