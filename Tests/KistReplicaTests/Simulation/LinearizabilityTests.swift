import Foundation
import KistLinearizability
import Testing

/// The number of schedules; KIST_SCHEDULES sets it, and KIST_SEED the first seed.
private let schedules =
  ProcessInfo.processInfo.environment["KIST_SCHEDULES"].flatMap { UInt64($0) } ?? 8

@Suite(.timeLimit(.minutes(60))) struct `A history of a register` {
  private typealias History = RegisterHistory<Int>

  @Test func `is linearizable if an order explains all answers`() {
    var history = History()
    history.add(.any, writes: 1, from: 0, to: 10)
    history.add(.value(0), writes: nil, from: 2, to: 4)
    history.add(.value(1), writes: nil, from: 5, to: 7)
    history.add(.other(than: 0), writes: nil, from: 6, to: 8)
    history.add(.value(1), writes: 2, from: 11, to: 13)
    history.add(.value(2), writes: nil, from: 12, to: 14)
    #expect(history.isLinearizable(from: 0))
  }

  @Test func `is not linearizable if a read is stale, or goes back`() {
    var stale = History()
    stale.add(.any, writes: 1, from: 0, to: 1)
    stale.add(.value(0), writes: nil, from: 2, to: 3)
    #expect(!stale.isLinearizable(from: 0))

    var back = History()
    back.add(.any, writes: 1, from: 0, to: 10)
    back.add(.value(1), writes: nil, from: 2, to: 3)
    back.add(.value(0), writes: nil, from: 4, to: 5)
    #expect(!back.isLinearizable(from: 0))

    var lost = History()
    lost.add(.any, writes: 1, from: 0, to: 1)
    lost.add(.any, writes: 2, from: 2, to: 3)
    lost.add(.value(1), writes: nil, from: 4, to: 5)
    #expect(!lost.isLinearizable(from: 0))

    var twice = History()
    twice.add(.value(0), writes: 1, from: 0, to: 5)
    twice.add(.value(0), writes: 2, from: 1, to: 6)
    #expect(!twice.isLinearizable(from: 0))
  }

  @Test func `may have an operation without an answer that was made late, or never`() {
    var history = History()
    history.addUnknown(.any, writes: 1, from: 0)
    history.add(.value(0), writes: nil, from: 2, to: 3)
    #expect(history.isLinearizable(from: 0))
    history.add(.value(1), writes: nil, from: 4, to: 5)
    #expect(history.isLinearizable(from: 0))
    history.add(.value(0), writes: nil, from: 6, to: 7)
    #expect(!history.isLinearizable(from: 0))
  }
}

@Suite(.timeLimit(.minutes(60))) struct `Nine machines with a shared vault` {
  @Test func `have linearizable changes and fresh loads`() {
    var operations = 0
    for seed in firstSeed..<firstSeed + schedules {
      let simulation = Simulation(seed: seed, machines: 9, requests: 40)
      for violation in simulation.run().violations.prefix(1) { Issue.record("\(violation)") }
      let registers = simulation.histories(includingCopies: false)
      operations += registers.reduce(0) { $0 + $1.operations.count }
      for register in registers {
        #expect(register.isLinearizable(from: nil), "seed \(seed)")
      }
    }
    #expect(operations > Int(schedules) * 100)
    guard ProcessInfo.processInfo.environment["KIST_SCHEDULES"] != nil else { return }
    print("\(operations) operations")
  }

  @Test func `have loads from the copy that are stale, which the check finds`() {
    let isStale = (1...UInt64(20)).contains { seed in
      let simulation = Simulation(seed: seed, machines: 9, requests: 40)
      _ = simulation.run()
      return simulation.histories(includingCopies: true)
        .contains { !$0.isLinearizable(from: nil) }
    }
    #expect(isStale)
  }
}
