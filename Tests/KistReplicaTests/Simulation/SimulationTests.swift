import Foundation
import KistCore
import Testing

/// The number of schedules of each test; KIST_SCHEDULES sets it.
private let schedules =
  ProcessInfo.processInfo.environment["KIST_SCHEDULES"].flatMap { UInt64($0) } ?? 50
/// The first seed; KIST_SEED sets it.
let firstSeed =
  ProcessInfo.processInfo.environment["KIST_SEED"].flatMap { UInt64($0) } ?? 1

@Suite(.timeLimit(.minutes(60))) struct `Three machines with a shared vault` {
  @Test func `keep their promises on a cluster with faults`() {
    check(Faults())
  }

  @Test func `keep their promises on a cluster that lies`() {
    var faults = Faults()
    faults.lie = 15
    check(faults)
  }

  @Test func `repeat a schedule exactly`() {
    let runs = (0..<2).map { _ in Simulation(seed: 7).run() }
    #expect(runs[0].counts == runs[1].counts && runs[0].steps == runs[1].steps)
  }

  private func check(_ faults: Faults) {
    var counts: [String: Int] = [:]
    for seed in firstSeed..<firstSeed + schedules {
      let result = Simulation(seed: seed, faults: faults).run()
      for violation in result.violations.prefix(1) { Issue.record("\(violation)") }
      counts.merge(result.counts, uniquingKeysWith: +)
    }
    // So that a simulation in which nothing succeeds is noticed.
    for answer in [
      "save: answered", "save: unavailable unchanged", "save: unavailable unknown",
      "save on condition: conflict unchanged", "delete: answered", "load: answered",
      "load: notFound ", "load fresh: answered", "reopened",
    ] {
      #expect(counts[answer, default: 0] > 0)
    }
    // Shows whether two processes ran the same schedules.
    guard ProcessInfo.processInfo.environment["KIST_SCHEDULES"] != nil else { return }
    print(counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: "\n"))
  }
}
