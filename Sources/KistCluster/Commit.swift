package import KistCore

/// Writes that a cluster makes together, if the head of a generation is the expected one.
package struct Commit: Hashable, Sendable {
  /// The head that a generation must have.
  package struct ExpectedHead: Hashable, Sendable {
    /// The generation.
    package var generation: UInt32
    /// The bytes of its head; `nil` if it must have none.
    ///
    /// No two heads have the same bytes, because each one contains a random nonce.
    package var bytes: [UInt8]?

    package init(generation: UInt32, bytes: [UInt8]?) {
      (self.generation, self.bytes) = (generation, bytes)
    }
  }

  /// The head that must be there; `nil` for writes that do not depend on it.
  ///
  /// Every change of credentials or of the roster expects a head, and replaces it. Only records
  /// beside the history do not: what a machine has seen, and leftovers that are removed.
  package var expected: ExpectedHead?
  /// The records to write, by name.
  package var puts: [RecordName: [UInt8]]
  /// The records to delete, whether they exist or not.
  package var deletes: Set<RecordName>

  package init(
    expected: ExpectedHead?, puts: [RecordName: [UInt8]] = [:], deletes: Set<RecordName> = []
  ) {
    (self.expected, self.puts, self.deletes) = (expected, puts, deletes)
  }

  /// The maximum number of puts and deletes together.
  ///
  /// etcd allows as many in one transaction.
  package static let mostOperations = 128
  /// The maximum size of all records together in bytes: 1 MiB.
  ///
  /// etcd refuses requests above 1.5 MiB, including names.
  package static let mostBytes = 1 << 20

  /// Throws `tooLarge` if the commit exceeds a limit, and `badRequest` if it writes and deletes the
  /// same record.
  package func check() throws(StorageError) {
    guard deletes.isDisjoint(with: puts.keys) else {
      throw .refused("a commit writes and deletes the same record")
    }
    guard puts.count + deletes.count <= Self.mostOperations else {
      throw .refused(
        "a commit has \(puts.count + deletes.count) writes; the limit is \(Self.mostOperations)",
        as: .tooLarge)
    }
    let size = puts.values.reduce(0) { $0 + $1.count }
    guard size <= Self.mostBytes else {
      throw .tooLarge("a commit", limit: Self.mostBytes, size: size).withOutcome(.unchanged)
    }
  }
}

/// The answer to a commit.
package enum CommitReply: Hashable, Sendable {
  /// The commit was made, at this position.
  case committed(ClusterPosition)
  /// The head is not the expected one; nothing was changed.
  case headDiffers
}

extension Cluster {
  /// Returns a cluster that refuses requests above the limits before it sends them.
  ///
  /// A function that opens or serves a cluster adds this.
  package func enforcingLimits() -> Cluster {
    var cluster = self
    cluster.commit = { commit throws(StorageError) in
      try commit.check()
      return try await self.commit(commit)
    }
    cluster.records = { names throws(StorageError) in
      guard names.count <= Commit.mostOperations else {
        throw .refused(
          "\(names.count) records were requested; the limit is \(Commit.mostOperations)",
          as: .tooLarge)
      }
      return try await self.records(names)
    }
    return cluster
  }
}
