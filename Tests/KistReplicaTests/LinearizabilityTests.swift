import KistLinearizability
import Testing

@testable import KistSimulation

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
