import KistCluster
import Testing

@Suite(.timeLimit(.minutes(5))) struct `The name of a record` {
  private static let digits = "ff00000000000000000000000000000a"

  @Test(
    arguments: [
      (.roster(number: 18), "roster/0000000000000012"), (.head(generation: 1), "00000001/head"),
      (.announcement(generation: 1), "00000001/next"),
      (.logEntry(generation: .max, sequence: 0xABC), "ffffffff/log/0000000000000abc"),
      (.logEntry(generation: 0, sequence: .max), "00000000/log/ffffffffffffffff"),
      (.row(generation: 16, key: RecordID(255, 10)), "00000010/row/\(digits)"),
      (.seen(machine: RecordID(255, 10)), "seen/\(digits)"),
    ] as [(RecordName, String)])
  func `is a path of its own`(name: RecordName, path: String) {
    #expect(name.path == path)
    #expect(RecordName(path: path) == name)
  }

  @Test(arguments: [
    "", "/", "roster", "roster/", "/roster", "roster/1", "Roster/0000000000000001", "head",
    "1/head", "00000001/head/", "0000000G/head",
    "+0000001/head", "00000001/log/1", "00000001/log/0000000000000ABC", "00000001/row/00",
    "00000001/row/\(digits)/", "00000001/row/\(digits)0", "00000001/\(digits)", "seen/1",
    "seen/+f00000000000000000000000000000a", "00000001/seen/\(digits)", "000000001/head",
  ])
  func `is not read from another text`(path: String) {
    #expect(RecordName(path: path) == nil)
  }

  @Test func `with an id has exactly 16 bytes`() throws {
    for count in [0, 15, 17] { #expect(RecordID([UInt8](repeating: 1, count: count)) == nil) }
    let bytes = [UInt8](0xF0...0xFF)
    let id = try #require(RecordID(bytes))
    #expect(id.bytes == bytes && id.description == "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    #expect(RecordID(1, 9) < RecordID(2, 0) && RecordID(1, 8) < RecordID(1, 9))
  }
}
