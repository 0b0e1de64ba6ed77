import Foundation
import KistKeyrings
import Testing

@Suite(.requires(.dbusDaemon, .gdbus, .keePassXC, .secretTool, .xvfb), .timeLimit(.minutes(10)))
struct `KeePassXC on a private bus` {
  @Test func `keeps an item across a restart and a kill`() async throws {
    try await withPrivateBus { bus in
      let keyring = try await KeePassXC(on: bus)
      let tool = SecretTool(on: bus)
      #expect(try await tool.store("value".utf8, "service", "s").status == 0)
      #expect(try await tool.store("other".utf8, "service", "t").status == 0)
      try await keyring.restart()
      #expect(try await tool.lookup("service", "s").text == "value")
      try await keyring.kill()
      #expect(try await bus.hasProvider() == false)
      try await keyring.restart()
      #expect(try await tool.clear("service", "s").status == 0)
      #expect(try await tool.lookup("service", "s").status == 1)
      #expect(try await tool.lookup("service", "t").text == "other")
    }
  }
}
