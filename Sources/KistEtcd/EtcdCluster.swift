#if Etcd
  internal import GRPCCore
  internal import KistCluster
  internal import KistCore
  internal import SwiftProtobuf

  /// The records of a vault in etcd, as the functions of a `Cluster`.
  struct EtcdCluster: Sendable {
    private typealias KV = Etcdserverpb_KV.Method

    /// The number of rows to request first.
    ///
    /// A row has about 300 bytes, and at most 1 MiB. If the rows do not fit into a reply of gRPC, a
    /// sixteenth is requested.
    private static let pageSize: Int64 = 1024
    /// The maximum number of watches at the same time.
    ///
    /// One needs at most 20 MiB for commits that were not taken. The unit allows 256 MiB.
    private static let mostWatches = 8

    let nodes: Nodes
    let keys: Keys

    /// The functions, for `serve`, which refuses commits above the limits of etcd.
    var cluster: Cluster {
      Cluster(
        head: { generation throws(StorageError) in try await head(generation) },
        list: { request throws(StorageError) in try await list(request) },
        records: { names throws(StorageError) in try await records(names) },
        commit: { commit throws(StorageError) in try await make(commit) },
        changes: { request throws(StorageError) in
          try await watch(request, keys: keys, nodes: nodes)
        }
      ).limitingChanges(to: Self.mostWatches).sharingChanges()
    }

    private func head(_ generation: UInt32) async throws(StorageError) -> HeadReading {
      var request = Etcdserverpb_RangeRequest()
      request.key = keys.key(of: .head(generation: generation))
      let reply = try await range(request)
      return HeadReading(
        head: reply.kvs.first.map { Array($0.value) },
        position: ClusterPosition(revision: reply.header.revision),
        warnings: nodes.warnings)
    }

    private func list(_ list: ListRequest) async throws(StorageError) -> ListReply {
      var request = Etcdserverpb_RangeRequest()
      (request.key, request.rangeEnd) = keys.rows(list)
      if let position = list.position {
        // Revision 0 would be the latest one. etcd's first revision is 1.
        guard let revision = position.revision, revision > 0 else { return .compacted }
        request.revision = revision
      }
      request.limit = Self.pageSize
      while true {
        let reply: Etcdserverpb_RangeResponse
        do throws(CallFailure) {
          // A single row always fits.
          reply = try await nodes.read(
            KV.Range.descriptor, request, mayExceedLimit: request.limit > 1)
        } catch {
          if error.isCompacted { return .compacted }
          guard error.isTooLarge else { throw error.error }
          request.limit = max(request.limit / 16, 1)
          continue
        }
        let rows = reply.kvs.compactMap { pair -> ListPage.Row? in
          guard case .row(_, let key) = keys.name(of: pair.key) else { return nil }
          return ListPage.Row(key: key, bytes: Array(pair.value))
        }
        return .page(
          ListPage(
            rows: rows, isLast: !reply.more,
            position: list.position ?? ClusterPosition(revision: reply.header.revision)))
      }
    }

    private func records(_ names: [RecordName]) async throws(StorageError) -> [[UInt8]?] {
      let reply: Etcdserverpb_TxnResponse
      do throws(CallFailure) {
        reply = try await nodes.read(
          KV.Txn.descriptor, Etcdserverpb_TxnRequest(reading: names, keys),
          // A single record always fits.
          mayExceedLimit: names.count > 1)
      } catch { throw error.error }
      guard reply.responses.count == names.count else {
        throw StorageError(.unavailable, "etcd answered with another number of records")
      }
      let records = reply.responses.map { $0.responseRange.kvs.first.map { Array($0.value) } }
      let size = records.reduce(0) { $0 + ($1?.count ?? 0) }
      guard size <= Commit.mostBytes else {
        throw .tooLarge("the answer with all records", limit: Commit.mostBytes, size: size)
      }
      return records
    }

    private func make(_ commit: Commit) async throws(StorageError) -> CommitReply {
      do throws(CallFailure) {
        let reply: Etcdserverpb_TxnResponse = try await nodes.change(
          KV.Txn.descriptor, Etcdserverpb_TxnRequest(commit, keys))
        // etcd makes a commit that only deletes, although its quota is used up.
        if !commit.puts.isEmpty { nodes.warn([], about: .quota) }
        guard reply.succeeded else { return .headDiffers }
        return .committed(ClusterPosition(revision: reply.header.revision))
      } catch {
        guard error.error.code == .full else { throw error.ofCommit }
        let texts = [error.error.message, error.error.hint].compactMap(\.self)
        nodes.warn([texts.joined(separator: "; ")], about: .quota)
        return try await reply(to: commit, despite: error)
      }
    }

    /// Finds out whether etcd made a commit for which it has no space.
    ///
    /// If etcd notices only while it makes a commit that its quota is used up, it makes the commit, and
    /// answers with this error (`quotaApplierV3` in etcd's apply.go). A record with the same bytes proves
    /// it, because each record has a new nonce. No later commit replaces an entry of the log or a roster.
    private func reply(
      to commit: Commit, despite failure: CallFailure
    ) async throws(StorageError) -> CommitReply {
      guard let (name, bytes) = commit.puts.first(where: \.key.stays) ?? commit.puts.first else {
        throw failure.ofCommit
      }
      var request = Etcdserverpb_RangeRequest()
      request.key = keys.key(of: name)
      let reply: Etcdserverpb_RangeResponse
      do throws(StorageError) { reply = try await range(request) } catch {
        throw failure.error.withOutcome(.unknown)
      }
      guard let pair = reply.kvs.first, pair.value.elementsEqual(bytes) else {
        throw failure.ofCommit
      }
      return .committed(ClusterPosition(revision: pair.modRevision))
    }

    private func range(
      _ request: Etcdserverpb_RangeRequest
    ) async throws(StorageError) -> Etcdserverpb_RangeResponse {
      do throws(CallFailure) { return try await nodes.read(KV.Range.descriptor, request) } catch {
        throw error.error
      }
    }
  }

  extension RecordName {
    /// Whether no later commit replaces the record.
    fileprivate var stays: Bool {
      switch self {
      case .logEntry, .roster: true
      case .announcement, .head, .row, .seen: false
      }
    }
  }
#endif
