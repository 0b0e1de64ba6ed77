import KistKeyrings
import Testing

@Suite(.requires(.dbusDaemon, .gdbus, .gnomeKeyring, .secretTool), .timeLimit(.minutes(10)))
struct `gnome-keyring on a private bus` {
  @Test(arguments: [GnomeKeyring.Start.password("pw"), .blankPassword])
  func `keeps an item across a restart and a kill`(start: GnomeKeyring.Start) async throws {
    try await withPrivateBus { bus in
      let keyring = try await GnomeKeyring(start, on: bus)
      let tool = SecretTool(on: bus)
      #expect(try await tool.store("value".utf8, "service", "s").status == 0)
      try await keyring.kill()
      #expect(try await bus.hasProvider() == false)
      try await keyring.restart()
      #expect(try await tool.lookup("service", "s").text == "value")
      try await keyring.restart()
      #expect(try await tool.lookup("service", "s").text == "value")
      #expect(try await tool.search("service", "s").text.contains("secret = value"))
      #expect(try await tool.clear("service", "s").status == 0)
      #expect(try await tool.lookup("service", "s").status == 1)
    }
  }

  @Test func `hides an item while it is locked`() async throws {
    try await withPrivateBus { bus in
      let keyring = try await GnomeKeyring(.password("pw"), on: bus)
      let tool = SecretTool(on: bus)
      try await tool.store("value".utf8, "service", "s")
      try await keyring.restart(.locked)
      #expect(try await tool.lookup("service", "s").status == 1)
      #expect(try await tool.store("value".utf8, "service", "t").status == 1)
      try await keyring.restart()
      #expect(try await tool.lookup("service", "s").text == "value")
    }
  }

  @Test func `starts with a locked collection`() async throws {
    try await withPrivateBus { bus in
      _ = try await GnomeKeyring(.locked, on: bus)
      let collection = try #require(try await bus.defaultCollection())
      #expect(try await bus.isLocked(collection) == true)
    }
  }

  @Test
  func
    `says of a keyring with a blank password that it is locked, and unlocks it without a prompt`()
    async throws
  {
    try await withPrivateBus { bus in
      _ = try await GnomeKeyring(.blankPassword, on: bus)
      let collection = try #require(try await bus.defaultCollection())
      #expect(try await bus.isLocked(collection) == true)
      let reply = try await bus.call(
        "org.freedesktop.secrets", "/org/freedesktop/secrets",
        "org.freedesktop.Secret.Service.Unlock", ["[objectpath '\(collection)']"])
      #expect(reply.text.hasSuffix("objectpath '/')\n"))
      #expect(try await bus.isLocked(collection) == false)
    }
  }

  @Test func `starts without any collection`() async throws {
    try await withPrivateBus { bus in
      _ = try await GnomeKeyring(.none, on: bus)
      #expect(try await bus.defaultCollection() == "/")
    }
  }
}
