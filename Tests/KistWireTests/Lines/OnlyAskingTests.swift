import KistCore
import Testing

@testable import KistWire

@Suite(.timeLimit(.minutes(10))) struct `A line only asks` {
  private static let asking = [
    "audit", "auditVerify", "backup", "backupPart", "find", "hello", "load", "slots", "status",
    "watch",
  ]
  private static let changing = ["delete", "lock", "save", "slotAdd", "slotRemove", "unlock"]

  @Test(arguments: asking)
  func `that has one of these operations`(operation: String) {
    #expect(Line(Secret(utf8: "{\"id\":1,\"op\":\"\(operation)\",\"service\":\"s\"}")).onlyAsks)
  }

  @Test(arguments: changing.map { "\"\($0)\"" } + ["\"new\"", "1"])
  func `and not with another one`(operation: String) {
    #expect(!Line(Secret(utf8: "{\"op\":\(operation)}")).onlyAsks)
  }

  @Test func `or not, and there is no other operation`() async throws {
    let operations = try await Hello.ask(service()).operations
    #expect(operations == (Self.asking + Self.changing).sorted())
  }

  @Test(arguments: ["", "{}", "{\"op\":\"load\"", "{\"op\":\"load\",\"op\":\"save\"}", "load"])
  func `and not where it is none of these`(text: String) {
    #expect(!Line(Secret(utf8: text)).onlyAsks)
  }
}
