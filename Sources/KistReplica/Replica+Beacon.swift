package import KistCluster
package import KistCore
internal import KistShared
internal import KistVault
internal import Synchronization

/// The last beacon that this machine wrote.
struct WrittenBeacon {
  let sequence: UInt64
  /// When it was written, by the clock that is never set.
  let time: Duration
}

extension Replica {
  /// The number of machines that may write their beacons between two confirmations, on average.
  private static let machinesAtOnce = 100

  /// Writes the beacon of this machine if the copy has changes that the last beacon does not show.
  ///
  /// Beacons are written beside the history, so no save waits for one. A failure does no harm: the
  /// next confirmation of the head tries again.
  func writeBeacon() async {
    let now = options.elapsed()
    let due = state.withLock { state -> KnownVault? in
      guard let last = state.beacon else { return state.known }
      return last.sequence < state.known.state.sequence && now - last.time >= options.beaconsEvery
        ? state.known : nil
    }
    guard let known = due else { return }
    // The beacon says that the copy on the disk has the changes. After a crash, the note has them, too: an
    // admin needs that if the cluster loses its changes at the same time.
    let isWritten: Void? = try? await turn.take { () throws(StorageError) in
      _ = try self.known()
      try await copy.flush()
      writeNoteIfDue(after: 1)
    }
    guard isWritten != nil, isTurn(among: known.roster.roster.members.count) else { return }
    let record = known.keys.encode(
      Beacon(point: known.head.point, time: options.now()), signedBy: options.machine,
      nonce: options.random(24))
    let commit = Commit(expected: nil, puts: [.seen(machine: options.machine.id): record])
    guard case .committed? = try? await cluster.commit(commit) else { return }
    state.withLock {
      $0.beacon = WrittenBeacon(sequence: known.state.sequence, time: now)
    }
  }

  /// Whether this machine writes now: all machines of a large vault together could overload the cluster.
  private func isTurn(among machines: Int) -> Bool {
    let random = options.random(2)
    return (Int(random[0]) << 8 | Int(random[1])) * machines < Self.machinesAtOnce << 16
  }
}

extension SharedVault {
  /// What a machine has reported about its copy.
  package struct Report: Equatable, Sendable {
    /// The machine.
    package var machine: Machine
    /// The last change in its copy.
    package var state: State

    /// The last change in the copy of a machine.
    package enum State: Equatable, Sendable {
      /// The machine has reported nothing since the vault has its newest key.
      case nothing
      /// The copy had all changes up to this one, at a time of the machine's clock.
      case seen(Revision, at: Timestamp)
      /// The report is not one of this machine, or not of the history that this machine reads.
      case refused(StorageError)
    }

    /// Whether the copy has the change of a revision.
    package func has(_ revision: Revision) -> Bool {
      guard case .seen(let last, _) = state else { return false }
      return revision.isLater(than: last) == false
    }
  }

  /// Reads what the machines of the vault have reported; leaves out recovery keys.
  ///
  /// - Parameter note: the note beside the copy of the vault on this machine.
  package static func reports(
    after note: [UInt8]?, on cluster: Cluster, _ options: ReplicaOptions
  ) async throws(StorageError) -> [Report] {
    let known = try KnownVault(noted: note, by: options.machine)
    let last = try await cluster.verifiedChanges(after: known, for: options.machine).last
    let (keys, roster) = (last.keys, last.roster)
    // A recovery key is on paper, and reports nothing.
    let admins = roster.roster.admins
    let recovery = roster.roster.members.filter { admins.contains($0.keys.signing) }.map(\.keys.id)
    let machines = try keys.machines(in: roster.roster).filter { !recovery.contains($0.id) }
    let beacons = try await cluster.readAll(machines.map { .seen(machine: $0.id) })
    var points: [(index: Int, point: HeadPoint)] = []
    var reports: [Report] = []
    for (machine, record) in zip(machines, beacons) {
      var report = Report(machine: machine, state: .nothing)
      do throws(StorageError) {
        if let record, let beacon = try keys.openBeacon(record, of: machine.id, in: roster) {
          report.state = .seen(
            last.state.epoch.revision(of: beacon.point.sequence), at: beacon.time)
          points.append((reports.count, beacon.point))
        }
      } catch { report.state = .refused(error) }
      reports.append(report)
    }
    // Read after the beacons, so that every change in a beacon is in the log.
    let entries = try await cluster.readAll(
      points.map { .logEntry(generation: keys.generation, sequence: $0.point.sequence) })
    for (place, entry) in zip(points, entries)
    where entry.map({ Digest(of: $0) }) != place.point.digest {
      reports[place.index].state = .refused(.otherHistory)
    }
    return reports
  }
}

extension StorageError {
  fileprivate static let otherHistory = rolledBack(
    "the machine has seen a history that the cluster does not have")
}
