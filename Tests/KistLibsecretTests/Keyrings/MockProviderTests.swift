import Foundation
import KistKeyrings
import Testing

@Suite(.requires(.dbusDaemon, .gdbus, .python, .secretTool), .timeLimit(.minutes(10)))
struct `The mock provider` {
  @Test(arguments: [[], [MockProvider.Behaviour.plainOnly]])
  func `stores, finds and deletes as a good provider does`(
    behaviours: [MockProvider.Behaviour]
  ) async throws {
    try await withPrivateBus { bus in
      let provider = try await MockProvider(behaviours, on: bus)
      let tool = SecretTool(on: bus)
      let secret = Data((0..<8_000).map { 32 + UInt8($0 % 95) })
      #expect(try await tool.store(secret, "service", "s").status == 0)
      #expect(try await tool.store("other".utf8, "service", "t").status == 0)
      try await provider.restart(behaviours)
      #expect(try await tool.lookup("service", "s").bytes == secret)
      #expect(try await tool.clear("service", "s").status == 0)
      #expect(try await tool.lookup("service", "s").status == 1)
      #expect(try await tool.lookup("service", "t").text == "other")
      #expect(provider.calls.contains("Collection.CreateItem"))
    }
  }

  @Test(arguments: [
    MockProvider.Behaviour.mute(), .mute(in: "SearchItems"), .muteAfterSession,
  ])
  func `can be mute`(behaviour: MockProvider.Behaviour) async throws {
    try await withPrivateBus { bus in
      let provider = try await MockProvider([behaviour], on: bus)
      let tool = SecretTool(on: bus, within: .seconds(2))
      #expect(try await tool.lookup("service", "s").status == nil)
      #expect(!provider.calls.isEmpty && provider.isRunning)
    }
  }

  @Test(arguments: ["CreateItem", "Delete", "GetSecrets"])
  func `can die in mid-call`(method: String) async throws {
    try await withPrivateBus { bus in
      let provider = try await MockProvider([], on: bus)
      let tool = SecretTool(on: bus)
      try await tool.store("value".utf8, "service", "s")
      try await provider.restart([.dies(in: method)])
      switch method {
      case "CreateItem": try await tool.store("other".utf8, "service", "s")
      case "Delete": try await tool.clear("service", "s")
      default: #expect(try await tool.lookup("service", "s").text == "")
      }
      try await poll("the provider ended") { !provider.isRunning }
      #expect(provider.calls.last?.hasSuffix(".\(method)") == true)
      try await provider.restart([])
      #expect(try await tool.lookup("service", "s").text == "value")
    }
  }

  @Test func `can die when it has stored and not answered`() async throws {
    try await withPrivateBus { bus in
      let provider = try await MockProvider([.diesAfter("CreateItem")], on: bus)
      let tool = SecretTool(on: bus)
      #expect(try await tool.store("value".utf8, "service", "s").status != 0)
      try await poll("the provider ended") { !provider.isRunning }
      try await provider.restart([])
      #expect(try await tool.lookup("service", "s").text == "value")
    }
  }

  @Test(arguments: [nil, "OpenSession", "SearchItems"])
  func `can answer with wrong types`(method: String?) async throws {
    try await withPrivateBus { bus in
      _ = try await MockProvider([.answersWrongTypes(in: method)], on: bus)
      let reply = try await bus.call(
        "org.freedesktop.secrets", "/org/freedesktop/secrets",
        "org.freedesktop.Secret.Service.\(method ?? "ReadAlias")",
        method == "OpenSession" ? ["plain", "<''>"] : [method == nil ? "default" : "{'a': 'b'}"])
      #expect(reply.text == "('nonsense',)\n")
    }
  }

  @Test func `can have no collection`() async throws {
    try await withPrivateBus { bus in
      _ = try await MockProvider([.noDefaultCollection], on: bus)
      #expect(try await bus.defaultCollection() == "/")
    }
  }

  @Test(arguments: [
    ([MockProvider.Behaviour.locked, .prompt(.accepted)], "value"),
    ([.locked], ""), ([.locked, .prompt(.dismissed)], ""),
  ])
  func `asks with a prompt to unlock`(
    behaviours: [MockProvider.Behaviour], found: String
  ) async throws {
    try await withPrivateBus { bus in
      let provider = try await MockProvider([], on: bus)
      let tool = SecretTool(on: bus)
      try await tool.store("value".utf8, "service", "s")
      #expect(!provider.calls.contains("Prompt.Prompt"))
      try await provider.restart(behaviours)
      #expect(try await tool.lookup("service", "s").text == found)
      #expect(provider.calls.contains("Prompt.Prompt"))
    }
  }

  @Test(arguments: [
    MockProvider.Behaviour.Prompt.neverCompletes, .dismissedWithWrongType,
  ])
  func `has prompts at which libsecret hangs`(prompt: MockProvider.Behaviour.Prompt) async throws {
    try await withPrivateBus { bus in
      let provider = try await MockProvider([.createAsksPrompt, .prompt(prompt)], on: bus)
      let tool = SecretTool(on: bus, within: .seconds(5))
      #expect(try await tool.store("value".utf8, "service", "s").status == nil)
      #expect(provider.calls.last == "Prompt.Prompt")
    }
  }

  @Test func `claims to have stored what it did not`() async throws {
    try await withPrivateBus { bus in
      _ = try await MockProvider([.claimsToStore], on: bus)
      let tool = SecretTool(on: bus)
      #expect(try await tool.store("value".utf8, "service", "s").status == 0)
      #expect(try await tool.lookup("service", "s").status == 1)
    }
  }

  @Test func `alters values`() async throws {
    try await withPrivateBus { bus in
      _ = try await MockProvider([.altersValues], on: bus)
      let tool = SecretTool(on: bus)
      try await tool.store(" value ".utf8, "service", "s")
      #expect(try await tool.lookup("service", "s").text == "value")
    }
  }
}
