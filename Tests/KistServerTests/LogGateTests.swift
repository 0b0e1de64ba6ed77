import NIOCore
import Testing

@testable import KistServer

@Suite(.timeLimit(.minutes(2))) struct `The gate of the log` {
  @Test func `it lets one line through in ten seconds and counts the others`() {
    let gate = LogGate(interval: .seconds(10))
    let start = NIODeadline.uptimeNanoseconds(1_000)
    #expect(gate.pass(at: start) == 0)
    #expect(gate.pass(at: start + .seconds(1)) == nil)
    #expect(gate.pass(at: start + .seconds(9)) == nil)
    #expect(gate.pass(at: start + .seconds(10)) == 2)
    #expect(gate.pass(at: start + .seconds(11)) == nil)
  }
}
