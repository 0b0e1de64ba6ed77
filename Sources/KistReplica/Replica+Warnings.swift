internal import KistCluster
internal import KistCore
internal import KistShared
private import Synchronization

/// The time of a change of another machine that differs from this machine's clock.
struct OddTime {
  /// The machine that made the change.
  let machine: RecordID
  /// The time of the change minus that of this machine, in seconds.
  let difference: Int64
  /// When the change was compared, by the clock that is never set.
  let compared: Duration

  /// The greatest difference that is not reported, in seconds.
  static let mostDifference: Int64 = 60
  /// The time for which a difference is reported.
  ///
  /// After it, the clocks may have been set.
  static let timeOfReport = Duration.seconds(3600)
}

extension Replica {
  /// Compares the time of a change of another machine with this machine's clock.
  ///
  /// A change in the future shows that the clocks differ. A change in the past shows it only if it was made
  /// just now.
  func compareTime(of change: VerifiedHead, wasMadeNow: Bool) {
    guard change.machine != options.machine.id else { return }
    let difference = change.head.time.secondsSinceEpoch - options.now().secondsSinceEpoch
    let compared = options.elapsed()
    state.withLock { state in
      if (wasMadeNow ? abs(difference) : difference) > OddTime.mostDifference {
        state.oddTime = OddTime(
          machine: change.machine, difference: difference, compared: compared)
      } else if wasMadeNow, state.oddTime?.machine == change.machine {
        state.oddTime = nil
      }
    }
  }

  /// What the user should know of the clocks, the adapter and the cluster.
  var warnings: [String] {
    let now = options.elapsed()
    let (odd, adapter) = state.withLock { ($0.oddTime, $0.adapterWarnings) }
    var warnings = adapter.map { "the adapter says: \($0)" }
    if let odd, now - odd.compared <= OddTime.timeOfReport { warnings.append(odd.warning) }
    return warnings
  }
}

extension OddTime {
  fileprivate var warning: String {
    let (relation, doubt) =
      difference > 0 ? ("ahead of", "") : ("behind", ", unless the cluster held the change back")
    return """
      in the last hour, a change of the machine \(machine) was \(abs(difference)) seconds \(relation) this \
      machine's clock: check both clocks\(doubt); each machine decides by its own clock what has expired
      """
  }
}
