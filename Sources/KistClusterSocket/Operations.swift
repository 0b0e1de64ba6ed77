internal import KistCluster
internal import KistCore
internal import KistJSON
internal import KistWire

// The five operations of the cluster protocol (docs/cluster-protocol.md). The adapter and kistd
// use the same definitions.

extension Operation where Input == UInt32, Output == HeadReading {
  static var head: Self {
    Operation(
      name: "head", keys: ["generation"],
      request: Codec(
        read: { object throws(JSONError) in try object.required("generation").generation() },
        write: { generation, writer in writer.member("generation", Int(generation)) }),
      reply: Codec(
        read: { object throws(JSONError) in
          let warnings = try object["warnings"]?.elements().map { (text) throws(JSONError) in
            try text.string()
          }
          return HeadReading(
            head: try object.required("head").record(),
            position: try object.required("position").position(),
            warnings: (warnings ?? []).filter { $0.utf8.count <= longestText }
              .prefix(mostWarnings).map(\.self))
        },
        write: { reading, writer in
          writer.member("head", base64: reading.head)
          writer.member("position", reading.position)
          if !reading.warnings.isEmpty {
            writer.member("warnings", arrayOf: reading.warnings) { $1.element($0) }
          }
        }))
  }
}

extension Operation where Input == ListRequest, Output == ListReply {
  static var list: Self {
    Operation(
      name: "list", keys: ["generation", "firstByte", "after", "position"],
      request: Codec(
        read: { object throws(JSONError) in try ListRequest(object) },
        write: { $0.write(to: &$1) }),
      reply: Codec(
        read: { object throws(JSONError) in try ListReply(object) },
        write: { $0.write(to: &$1) }))
  }
}

extension Operation where Input == [RecordName], Output == [[UInt8]?] {
  static var records: Self {
    Operation(
      name: "records", keys: ["names"],
      request: Codec(
        read: { object throws(JSONError) in
          try object.required("names").elements().map { (name) throws(JSONError) in
            try name.recordName()
          }
        },
        write: { names, writer in
          writer.member("names", arrayOf: names) { $1.element($0.path) }
        }),
      reply: Codec(
        read: { object throws(JSONError) in
          try object.required("records").elements().map { (record) throws(JSONError) in
            try record.record()
          }
        },
        write: { records, writer throws(StorageError) in
          let size = records.reduce(0) { $0 + base64Count(of: $1?.count ?? 0) + 3 }
          guard size <= mostRecordBytes else {
            throw .refused(
              "the records do not fit into a reply of \(lineLimit) bytes", as: .tooLarge,
              hint: "request fewer records")
          }
          writer.member("records", arrayOf: records) { $1.element(base64: $0) }
        }))
  }
}

extension Operation where Input == Commit, Output == CommitReply {
  static var commit: Self {
    Operation(
      name: "commit", effect: .change, keys: ["expected", "puts", "deletes"],
      request: Codec(
        read: { object throws(JSONError) in try Commit(object) },
        write: { $0.write(to: &$1) }),
      reply: Codec(
        read: { object throws(JSONError) in
          guard try object.required("committed").bool() else { return .headDiffers }
          return .committed(try object.required("position").position())
        },
        write: { reply, writer in
          switch reply {
          case .headDiffers: writer.member("committed", false)
          case .committed(let position):
            writer.member("committed", true)
            writer.member("position", position)
          }
        }))
  }
}

extension Operation where Input == ChangesRequest, Output == Void {
  static var changes: Self {
    Operation(
      name: "changes", keys: ["generation", "after"],
      request: Codec(
        read: { object throws(JSONError) in
          ChangesRequest(
            generation: try object.required("generation").generation(),
            after: try object.required("after").position())
        },
        write: { request, writer in
          writer.member("generation", Int(request.generation))
          writer.member("after", request.after)
        }),
      reply: Codec(read: { _ in }, write: { _, _ in }))
  }
}

/// The maximum number of bytes of a line without its newline: 2 MiB.
///
/// A commit with records of 1 MiB (`Commit.mostBytes`) has less, with its records in base64.
let lineLimit = 2 << 20

/// The maximum number of bytes of a message, a hint or a warning of the adapter.
let longestText = 1 << 10

/// The maximum number of warnings that a client takes from a reply.
private let mostWarnings = 8

/// The maximum number of bytes of the records in a reply, in base64 and with quotes and commas.
///
/// The rest of the line is for the other members of the reply.
let mostRecordBytes = lineLimit - 1024
