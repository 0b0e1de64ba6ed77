internal import KistCluster
internal import KistCore
internal import KistJSON

extension JSONValue {
  func generation() throws(JSONError) -> UInt32 {
    guard let number = UInt32(exactly: try integer()) else {
      throw error("must be an integer from 0 to 2^32−1")
    }
    return number
  }

  func position() throws(JSONError) -> ClusterPosition {
    let text = try string()
    // Rejects other spellings of a number, such as a plus sign or leading zeros.
    guard let number = UInt64(text), String(number) == text else {
      throw error("must be a string with a decimal number from 0 to 2^64−1")
    }
    return ClusterPosition(number)
  }

  func recordName() throws(JSONError) -> RecordName {
    guard let name = RecordName(path: try string()) else {
      throw error("must be the path of a record")
    }
    return name
  }

  func rowKey() throws(JSONError) -> RecordID {
    guard let key = RecordID(hexadecimal: try string()) else {
      throw error("must be 32 lower-case hexadecimal digits")
    }
    return key
  }

  func bytes() throws(JSONError) -> [UInt8] {
    try base64().withBytes { [UInt8](copying: $0) }
  }

  /// Returns the bytes of a record; `nil` for `null`.
  func record() throws(JSONError) -> [UInt8]? { isNull ? nil : try bytes() }

  fileprivate func putsByName() throws(JSONError) -> [RecordName: [UInt8]] {
    var puts: [RecordName: [UInt8]] = [:]
    for (path, value) in try object().members(as: "puts") {
      guard let name = RecordName(path: path) else {
        throw error("must have the paths of records as keys")
      }
      puts[name] = try value.bytes()
    }
    return puts
  }

  fileprivate func deletes() throws(JSONError) -> Set<RecordName> {
    Set(try elements().map { (name) throws(JSONError) in try name.recordName() })
  }
}

extension JSONWriter {
  mutating func member(_ name: StaticString, _ position: ClusterPosition?) {
    member(name, position.map { String($0.number) })
  }

  fileprivate mutating func members(
    puts: [RecordName: [UInt8]], deletes: Set<RecordName>
  ) {
    member("puts") { writer in
      for (path, bytes) in puts.map({ ($0.path, $1) }).sorted(by: { $0.0 < $1.0 }) {
        writer.member(escaping: path, base64: bytes)
      }
    }
    member("deletes", arrayOf: deletes.map(\.path).sorted()) { $1.element($0) }
  }

  private mutating func member(_ name: StaticString, _ members: (inout JSONWriter) -> Void) {
    member(name, object: members)
  }
}

extension ListRequest {
  init(_ object: JSONObject) throws(JSONError) {
    let byte = try object.required("firstByte")
    guard let firstByte = UInt8(exactly: try byte.integer()) else {
      throw byte.error("must be an integer from 0 to 255")
    }
    self.init(
      generation: try object.required("generation").generation(), firstByte: firstByte,
      after: try object["after"]?.rowKey(), position: try object["position"]?.position())
  }

  func write(to writer: inout JSONWriter) {
    writer.member("generation", Int(generation))
    writer.member("firstByte", Int(firstByte))
    writer.member("after", after?.description)
    writer.member("position", position)
  }
}

extension ListReply {
  init(_ object: JSONObject) throws(JSONError) {
    if try object["compacted"]?.bool() ?? false {
      self = .compacted
      return
    }
    self = .page(
      ListPage(
        rows: try object.required("rows").elements().map { (row) throws(JSONError) in
          let row = try row.object()
          return ListPage.Row(
            key: try row.required("key").rowKey(), bytes: try row.required("bytes").bytes())
        },
        isLast: try object.required("isLast").bool(),
        position: try object.required("position").position()))
  }

  func write(to writer: inout JSONWriter) {
    guard case .page(let page) = self else { return writer.member("compacted", true) }
    let rows = page.rows.prefix(page.countOfFittingRows)
    writer.member("rows", arrayOf: Array(rows)) { row, writer in
      writer.braced { writer in
        writer.member("key", row.key.description)
        writer.member("bytes", base64: row.bytes)
      }
    }
    writer.member("isLast", page.isLast && rows.count == page.rows.count)
    writer.member("position", page.position)
  }
}

extension ListPage {
  /// The number of rows that fit into a reply.
  ///
  /// The caller requests the others as the next page. It is at least 1, because a row fits.
  fileprivate var countOfFittingRows: Int {
    let sizeOfOthers = #"{"key":"","bytes":""},"#.utf8.count + 2 * RecordID.size
    var size = 0
    let first = rows.firstIndex { row in
      size += sizeOfOthers + base64Count(of: row.bytes.count)
      return size > mostRecordBytes
    }
    return max(first ?? rows.count, min(rows.count, 1))
  }
}

extension Commit {
  init(_ object: JSONObject) throws(JSONError) {
    let expected = try object["expected"].map { (value) throws(JSONError) in
      let expected = try value.object()
      return ExpectedHead(
        generation: try expected.required("generation").generation(),
        bytes: try expected.required("head").record())
    }
    self.init(
      expected: expected, puts: try object.required("puts").putsByName(),
      deletes: try object.required("deletes").deletes())
  }

  func write(to writer: inout JSONWriter) {
    if let expected {
      writer.member("expected") { writer in
        writer.member("generation", Int(expected.generation))
        writer.member("head", base64: expected.bytes)
      }
    }
    writer.members(puts: puts, deletes: deletes)
  }
}

extension ClusterEvent {
  init(_ object: JSONObject) throws(JSONError) {
    let event = try object.required("event")
    switch try event.string() {
    case "compacted": self = .compacted
    case "commit":
      self = .commit(
        CommittedWrites(
          position: try object.required("position").position(),
          puts: try object.required("puts").putsByName(),
          deletes: try object.required("deletes").deletes()))
    default: throw event.error("must be `commit` or `compacted`")
    }
  }

  func write(to writer: inout JSONWriter) {
    switch self {
    case .compacted: writer.member("event", "compacted")
    case .commit(let writes):
      writer.member("event", "commit")
      writer.member("position", writes.position)
      writer.members(puts: writes.puts, deletes: writes.deletes)
    }
  }
}
