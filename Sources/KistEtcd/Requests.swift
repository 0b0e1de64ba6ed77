#if Etcd
  internal import FoundationEssentials
  internal import KistCluster
  internal import KistCore
  internal import SwiftProtobuf

  /// The keys of a vault in etcd: a prefix, and then the path of a record.
  struct Keys: Sendable {
    /// Ends with a slash.
    let prefix: String

    /// Makes the keys of the vault with an id of 16 bytes.
    init(vault: RecordID) { prefix = "kist/1/\(vault)/" }

    func key(of name: RecordName) -> Data { Data((prefix + name.path).utf8) }

    /// Returns the name of the record; `nil` if kist writes no such key.
    func name(of key: Data) -> RecordName? {
      let start = Data(prefix.utf8)
      guard key.starts(with: start) else { return nil }
      return RecordName(path: String(decoding: key.dropFirst(start.count), as: UTF8.self))
    }

    /// The range of all keys of the vault: from the first one to the one after the last.
    var all: (from: Data, to: Data) {
      (Data(prefix.utf8), Data((prefix.dropLast() + "0").utf8))
    }

    /// The range of the keys of a request for rows.
    func rows(_ request: ListRequest) -> (from: Data, to: Data) {
      // The row with the lowest key tag, and the key after the row with the highest one.
      func end(_ rest: UInt8) -> Data {
        let bytes = [request.firstByte] + [UInt8](repeating: rest, count: RecordID.size - 1)
        return key(of: .row(generation: request.generation, key: RecordID(bytes)!))
      }
      let after = request.after.map { key(of: .row(generation: request.generation, key: $0)) + [0] }
      return (max(after ?? end(0), end(0)), end(255) + [0])
    }
  }

  private func max(_ left: Data, _ right: Data) -> Data {
    left.lexicographicallyPrecedes(right) ? right : left
  }

  extension Etcdserverpb_TxnRequest {
    /// The transaction of a commit.
    init(_ commit: Commit, _ keys: Keys) {
      self.init()
      if let expected = commit.expected {
        var head = Etcdserverpb_Compare()
        head.key = keys.key(of: .head(generation: expected.generation))
        head.result = .equal
        if let bytes = expected.bytes {
          head.target = .value
          head.value = Data(bytes)
        } else {
          // The version of a key that does not exist.
          head.target = .version
          head.version = 0
        }
        compare = [head]
      }
      success =
        commit.puts.map { name, bytes in
          var put = Etcdserverpb_PutRequest()
          (put.key, put.value) = (keys.key(of: name), Data(bytes))
          return .with { $0.requestPut = put }
        }
        + commit.deletes.map { name in
          .with { $0.requestDeleteRange.key = keys.key(of: name) }
        }
    }

    /// The transaction that reads records at one revision.
    init(reading names: [RecordName], _ keys: Keys) {
      self.init()
      success = names.map { name in .with { $0.requestRange.key = keys.key(of: name) } }
    }
  }

  extension ClusterPosition {
    /// The position for a revision of etcd.
    init(revision: Int64) { self.init(UInt64(clamping: revision)) }

    /// The revision; `nil` if etcd cannot have such a revision.
    var revision: Int64? { Int64(exactly: number).flatMap { $0 < .max ? $0 : nil } }
  }
#endif
