package import KistCore

/// The records of one vault on a cluster, as five functions.
///
/// A vault is a set of credentials that several machines share. The cluster is a database, such as
/// etcd. It stores records by name and cannot read them: each one is sealed or signed before
/// it leaves the machine.
///
/// The comments below say what a correct cluster promises. **Everything that a cluster answers may
/// be a lie**, because its operator, a thief of its disk or one of its nodes may answer what they
/// like. A caller verifies each record with its own keys. Only `committed`, and the outcome
/// `unchanged` of an error, cannot be verified in the answer itself: the caller reads the head again
/// to confirm it.
package struct Cluster: Sendable {
  /// Reads the head of a generation.
  ///
  /// The read is linearizable: it sees every commit that was answered before the call. A lie: an
  /// older head, another history's head, or none.
  package var head: @Sendable (_ generation: UInt32) async throws(StorageError) -> HeadReading

  /// Lists the rows of a generation whose key tags begin with one byte, in ascending order.
  ///
  /// The cluster decides how many rows are in one page. A lie: any set of rows.
  package var list: @Sendable (ListRequest) async throws(StorageError) -> ListReply

  /// Reads records by name, all at one position; at most `Commit.mostOperations` of them.
  ///
  /// The answer has as many elements as the request, in the same order, and `nil` for each record
  /// that does not exist. The read is linearizable. Throws `tooLarge` if the records together exceed
  /// what the cluster can answer, which is at least `Commit.mostBytes`; request fewer then. A lie: any
  /// bytes, and any record absent.
  package var records: @Sendable ([RecordName]) async throws(StorageError) -> [[UInt8]?]

  /// Makes all writes of a commit or none.
  ///
  /// Commits are linearizable: of two with the same expected head, at most one is made. A committed
  /// change is as durable as the cluster makes it. An error has the outcome `unchanged` if nothing
  /// was written, and `unknown` if the commit may have been made, or may still be made later. A lie:
  /// `committed` for a commit that was not made, or `headDiffers` for one that was.
  package var commit: @Sendable (Commit) async throws(StorageError) -> CommitReply

  /// Begins to report the commits that change a generation, or add a roster.
  ///
  /// Every such commit after the position is reported once, in order, until the cluster has compacted its
  /// history. A lie: commits that are missing, changed, repeated or never made; a cluster that is cut
  /// off from its other nodes may report nothing, without an error. So a caller confirms the head
  /// every few seconds.
  package var changes: @Sendable (ChangesRequest) async throws(StorageError) -> ClusterChanges

  /// Makes a cluster from the five functions.
  package init(
    head: @escaping @Sendable (UInt32) async throws(StorageError) -> HeadReading,
    list: @escaping @Sendable (ListRequest) async throws(StorageError) -> ListReply,
    records: @escaping @Sendable ([RecordName]) async throws(StorageError) -> [[UInt8]?],
    commit: @escaping @Sendable (Commit) async throws(StorageError) -> CommitReply,
    changes: @escaping @Sendable (ChangesRequest) async throws(StorageError) -> ClusterChanges
  ) {
    self.head = head
    self.list = list
    self.records = records
    self.commit = commit
    self.changes = changes
  }
}

/// A place in the history of a cluster: the number of its last commit.
///
/// It serves only to read and to resume at that place. It is the cluster's to choose: it also counts
/// commits of strangers, and goes back if the cluster is restored from a snapshot. So it says nothing
/// about the order of kist's own changes.
package struct ClusterPosition: Hashable, Comparable, Sendable {
  /// The number.
  package let number: UInt64

  package init(_ number: UInt64) { self.number = number }

  package static func < (left: Self, right: Self) -> Bool { left.number < right.number }
}

/// The head of a generation, as the cluster answers it.
package struct HeadReading: Hashable, Sendable {
  /// The bytes of the head; `nil` if the generation has no head.
  package var head: [UInt8]?
  /// The position at which the head was read.
  package var position: ClusterPosition
  /// What the user should know of the database and the adapter, in the words of the adapter.
  package var warnings: [String]

  package init(head: [UInt8]?, position: ClusterPosition, warnings: [String] = []) {
    (self.head, self.position, self.warnings) = (head, position, warnings)
  }
}

/// A request for one page of rows.
package struct ListRequest: Hashable, Sendable {
  /// The generation.
  package var generation: UInt32
  /// The first byte of the key tags.
  package var firstByte: UInt8
  /// The key tag of the last row of the page before; `nil` for the first page.
  package var after: RecordID?
  /// The position at which to read; `nil` for a linearizable read of the latest one.
  ///
  /// A caller reads all pages at one position: that of the head, or that of the first page.
  package var position: ClusterPosition?

  package init(
    generation: UInt32, firstByte: UInt8, after: RecordID? = nil, position: ClusterPosition? = nil
  ) {
    self.generation = generation
    self.firstByte = firstByte
    self.after = after
    self.position = position
  }
}

/// The answer to a request for one page of rows.
package enum ListReply: Hashable, Sendable {
  /// A page.
  case page(ListPage)
  /// The cluster has discarded the history at the position of the request.
  ///
  /// Begin again at the latest position.
  case compacted
}

/// One page of rows.
package struct ListPage: Hashable, Sendable {
  /// A row, by its key tag.
  package struct Row: Hashable, Sendable {
    /// The key tag.
    package var key: RecordID
    /// The bytes of the row.
    package var bytes: [UInt8]

    package init(key: RecordID, bytes: [UInt8]) { (self.key, self.bytes) = (key, bytes) }
  }

  /// The rows, in ascending order of their key tags.
  package var rows: [Row]
  /// Whether no rows follow this page.
  package var isLast: Bool
  /// The position at which the page was read.
  package var position: ClusterPosition

  package init(rows: [Row], isLast: Bool, position: ClusterPosition) {
    (self.rows, self.isLast, self.position) = (rows, isLast, position)
  }
}

extension StorageError {
  /// The cluster did not answer a commit, which may have been made.
  package static let noAnswer = StorageError(
    .unavailable, "the cluster did not answer in time",
    hint:
      "the change may also be made later: `kist load --fresh` shows it, once the cluster answers",
    outcome: .unknown)
}
