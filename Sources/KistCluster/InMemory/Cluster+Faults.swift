internal import KistCore

// Clusters that break a promise, for tests. `MemoryEngine` has two more faults: a fork and a
// rollback.

extension Cluster {
  /// Returns a cluster that answers other bytes than it stores.
  ///
  /// - Parameter alter: returns the bytes to answer in place of a record's; `nil` for a record that
  ///   does not exist, or that is to be hidden. It also gets the names of absent records.
  package func altering(
    _ alter: @escaping @Sendable (RecordName, [UInt8]?) -> [UInt8]?
  ) -> Cluster {
    var cluster = self
    cluster.head = { generation throws(StorageError) in
      var reading = try await self.head(generation)
      reading.head = alter(.head(generation: generation), reading.head)
      return reading
    }
    cluster.records = { names throws(StorageError) in
      zip(names, try await self.records(names)).map(alter)
    }
    cluster.list = { request throws(StorageError) in
      guard case .page(var page) = try await self.list(request) else { return .compacted }
      page.rows = page.rows.compactMap { row in
        alter(.row(generation: request.generation, key: row.key), row.bytes)
          .map { ListPage.Row(key: row.key, bytes: $0) }
      }
      return .page(page)
    }
    return cluster.alteringCommits { writes in
      var writes = writes
      for (name, bytes) in writes.puts { writes.puts[name] = alter(name, bytes) }
      return writes
    }
  }

  /// Returns a cluster that does not report some commits to watchers, as if there had been none.
  package func hidingCommits(
    where isHidden: @escaping @Sendable (CommittedWrites) -> Bool
  ) -> Cluster {
    alteringCommits { isHidden($0) ? nil : $0 }
  }

  private func alteringCommits(
    _ alter: @escaping @Sendable (CommittedWrites) -> CommittedWrites?
  ) -> Cluster {
    var cluster = self
    cluster.changes = { request throws(StorageError) in
      let changes = try await self.changes(request)
      return ClusterChanges { () throws(StorageError) in
        while let event = try await changes.makeAsyncIterator().next() {
          guard case .commit(let writes) = event else { return event }
          if let altered = alter(writes) { return .commit(altered) }
        }
        return nil
      }
    }
    return cluster
  }

  /// A call of one of the five functions, or an event that is on its way to a watcher.
  package enum Call: Sendable {
    case head, list, records, commit, changes, event
  }

  /// Returns a cluster that waits before each call, and before it reports an event.
  ///
  /// - Parameter wait: waits. A test lets it return when it likes, so that no clock is needed.
  package func delayed(by wait: @escaping @Sendable (Call) async -> Void) -> Cluster {
    Cluster(
      head: { generation throws(StorageError) in
        await wait(.head)
        return try await self.head(generation)
      },
      list: { request throws(StorageError) in
        await wait(.list)
        return try await self.list(request)
      },
      records: { names throws(StorageError) in
        await wait(.records)
        return try await self.records(names)
      },
      commit: { commit throws(StorageError) in
        await wait(.commit)
        return try await self.commit(commit)
      },
      changes: { request throws(StorageError) in
        await wait(.changes)
        let changes = try await self.changes(request)
        return ClusterChanges { () throws(StorageError) in
          let event = try await changes.makeAsyncIterator().next()
          if event != nil { await wait(.event) }
          return event
        }
      })
  }

  /// The part of a commit that is lost on its way.
  package enum Loss: Sendable {
    /// The request: the commit is not made.
    case request
    /// The answer: the commit is made, or not if the head differs.
    case answer
    /// The commit: it is not made, and the answer says that it was.
    case commit
  }

  /// Returns a cluster that loses commits or their answers.
  ///
  /// - Parameter loss: returns what is lost of a commit; `nil` for nothing.
  package func losing(_ loss: @escaping @Sendable (Commit) -> Loss?) -> Cluster {
    var cluster = self
    cluster.commit = { commit throws(StorageError) in
      switch loss(commit) {
      case .request: throw .noAnswer
      case .commit: return .committed(ClusterPosition(0))
      case .answer:
        _ = try await self.commit(commit)
        throw .noAnswer
      case nil: return try await self.commit(commit)
      }
    }
    return cluster
  }
}
