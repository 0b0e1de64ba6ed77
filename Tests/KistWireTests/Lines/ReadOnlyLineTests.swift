import KistCore
import Testing

@testable import KistWire

@Suite(.timeLimit(.minutes(10))) struct `A line serves only its client` {
  @Test(arguments: OperationRow.all.map { ($0.name, $0.effect) })
  func `if its operation has no effect beyond the reply, or makes a backup`(
    operation: String, effect: OperationEffect
  ) {
    let line = Line(Secret(utf8: "{\"id\":1,\"op\":\"\(operation)\",\"service\":\"s\"}"))
    #expect(line.servesOnlyItsClient == (effect == .none || effect == .backup))
  }

  @Test(arguments: [
    "", "{}", "{\"op\":\"load\"", "{\"op\":\"load\",\"op\":\"save\"}", "load", "{\"op\":\"new\"}",
    "{\"op\":1}",
  ])
  func `not if its operation is unknown or cannot be read`(text: String) {
    #expect(!Line(Secret(utf8: text)).servesOnlyItsClient)
  }
}
