import KistCore
import Testing

@testable import KistWire

@Suite struct `A line only asks` {
  @Test(arguments: ["hello", "load", "find", "status", "audit", "backup", "backupPart"])
  func `that has one of these operations`(operation: String) {
    #expect(Line(Secret(utf8: "{\"id\":1,\"op\":\"\(operation)\",\"service\":\"s\"}")).onlyAsks)
  }

  @Test(arguments: ["\"save\"", "\"delete\"", "\"lock\"", "\"unlock\"", "\"new\"", "1"])
  func `and not with another one`(operation: String) {
    #expect(!Line(Secret(utf8: "{\"op\":\(operation)}")).onlyAsks)
  }

  @Test(arguments: ["", "{}", "{\"op\":\"load\"", "{\"op\":\"load\",\"op\":\"save\"}", "load"])
  func `and not where it is none of these`(text: String) {
    #expect(!Line(Secret(utf8: text)).onlyAsks)
  }
}
