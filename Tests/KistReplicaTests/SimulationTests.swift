import Foundation
import KistLinearizability
import Testing

@testable import KistSimulation

/// `make test-simulation` runs many more schedules.
@Suite(.timeLimit(.minutes(10))) struct `Machines with a shared vault` {
  @Test(arguments: [
    (
      Experiment.faults, 40 as UInt64,
      [
        "save: answered", "save: unavailable unchanged", "save: unavailable unknown",
        "save on condition: conflict unchanged", "delete: answered", "load: answered",
        "load: notFound ", "load fresh: answered", "reopened", "new key: answered",
        "new key: busy unchanged", "new key: crashed", "removed",
      ]
    ),
    (.lies, 40, ["save: answered", "new key: answered", "removed"]),
    (
      .losses, 30,
      [
        "save: answered", "load: answered", "save: corrupt unchanged", "joined again",
        "new key from a copy: answered", "new key from a copy: crashed",
      ]
    ),
    (.linearizability, 4, ["save: answered", "load fresh: answered", "new key: answered"]),
  ])
  func `keep their promises`(experiment: Experiment, schedules: UInt64, answers: [String]) async {
    var counts: [String: Int] = [:]
    for seed in 1...schedules {
      let result = await onThread { experiment.run(seed: seed) }
      for violation in result.violations.prefix(1) { Issue.record("\(violation)") }
      counts.merge(result.counts, uniquingKeysWith: +)
    }
    // So that a simulation in which nothing succeeds is noticed.
    for answer in answers { #expect(counts[answer, default: 0] > 0, "\(answer)") }
  }

  @Test(arguments: [7, 18, 25, 33, 84] as [UInt64]) func `repeat a schedule exactly`(
    seed: UInt64
  ) async {
    let runs = await onThread { (0..<2).map { _ in Simulation(seed: seed).run() } }
    #expect(runs[0].counts == runs[1].counts && runs[0].steps == runs[1].steps)
  }

  @Test func `have loads from the copy that are stale, which the check finds`() async {
    let isStale = await onThread {
      (1...UInt64(20)).contains { seed in
        let simulation = Simulation(seed: seed, machines: 9, requests: 40)
        _ = simulation.run()
        return simulation.histories(includingCopies: true)
          .contains { !$0.isLinearizable(from: nil) }
      }
    }
    #expect(isStale)
  }
}

/// Runs a simulation on a thread of its own; Swift's few threads are for the other tests.
private func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await withCheckedContinuation { continuation in
    let thread = Thread { continuation.resume(returning: body()) }
    thread.stackSize = 8 << 20
    thread.start()
  }
}
