import KistCore
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `What kist doctor says about a shared vault` {
  @Test func `shows the machines of a shared vault, and when it was confirmed`() async {
    var machine = Machine.healthy
    machine.setStatus { $0.vault = .sample(confirmedAgo: 30) }
    let (output, status) = await examine(machine)
    #expect(output.contains("\nok\tvault\t3 machines, generation 1; confirmed 30s ago\t\n"))
    #expect(status == 0)
  }

  @Test func `shows warnings`() async {
    var machine = Machine.healthy
    machine.setStatus { $0.vault = .sample(warnings: ["the clocks differ"]) }
    let (output, status) = await examine(machine)
    #expect(output.contains("\nnote\tvault\tthe clocks differ\t"))
    #expect(status == 0)
  }
}
