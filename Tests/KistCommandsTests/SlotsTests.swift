import KistCore
import KistTesting
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `kist slots` {
  @Test func `shows a slot of an unknown kind, and does not count it as one that opens the file`()
    async
  {
    var slots = KeySlots.unimplemented
    slots.list = {
      [
        KeySlotSummary(number: 1, kind: .keyFile), KeySlotSummary(number: 3, kind: .unknown),
        KeySlotSummary(number: 4, kind: .unknown),
      ]
    }
    slots.remove = { [slots] removal throws(StorageError) in
      #expect(removal == KeySlotRemoval(number: 3))
      return try await slots.list().filter { $0.number != removal.number }
    }
    let recorder = Recorder()
    let terminal = recorder.terminal()
    var statuses: [CInt] = []
    for arguments in [
      [], ["--remove", "1", "--yes"], ["--remove", "3"], ["--remove", "3", "--yes"],
    ] {
      statuses.append(
        await Kist.status(of: ["slots"] + arguments, on: terminal) { [slots] command in
          try await (command as! any RequiresKeySlots).perform(slots, terminal)
        })
    }
    #expect(statuses == [0, 64, 64, 0])
    #expect(
      recorder.output
        == "1\tkey file\n3\tunknown\n4\tunknown\n" + "1\tkey file\n4\tunknown\n")
    #expect(recorder.error.contains("slot 1, key file, is the only key slot"))
    #expect(recorder.error.contains("slot 1 would be the only key slot"))
  }
}
