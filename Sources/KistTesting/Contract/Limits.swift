import KistCore
import Testing

extension UserStorageContract {
  static let limits: [Rule] = [
    Rule("a service must have 1 to 1,024 bytes") { fixture in
      try await expectKept([.sample(.init(service: "s"))], in: fixture.storage)
      let longest = text(ofLength: Limits.keyPart)
      try await expectKept([.sample(.init(service: longest))], in: fixture.storage)
      await expectRefused(.sample(.init(service: "")), .badRequest, in: fixture.storage)
      await expectRefused(.sample(.init(service: longest + "x")), .tooLarge, in: fixture.storage)
      // 1,025 bytes in 513 characters: the limit counts bytes.
      let accented = String(repeating: "é", count: 512) + "x"
      await expectRefused(.sample(.init(service: accented)), .tooLarge, in: fixture.storage)
    },
    Rule("an account can have up to 1,024 bytes") { fixture in
      let longest = text(ofLength: Limits.keyPart)
      try await expectKept(
        [.sample(.init(service: "s")), .sample(.init(service: "s", account: longest))],
        in: fixture.storage)
      await expectRefused(
        .sample(.init(service: "s", account: longest + "x")), .tooLarge, in: fixture.storage)
    },
    Rule("a label can have up to 1,024 bytes") { fixture in
      let longest = text(ofLength: Limits.label)
      try await expectKept([.sample(label: ""), .sample(label: longest)], in: fixture.storage)
      await expectRefused(.sample(label: longest + "x"), .tooLarge, in: fixture.storage)
    },
    Rule("a secret can have up to 512 KiB") { fixture in
      let longest = text(ofLength: Limits.secret)
      try await expectKept([.sample(secret: longest)], in: fixture.storage)
      await expectRefused(.sample(secret: longest + "x"), .tooLarge, in: fixture.storage)
    },
    Rule("a credential can have up to 64 attributes") { fixture in
      try await expectKept([.sample(attributes: attributes(64))], in: fixture.storage)
      await expectRefused(.sample(attributes: attributes(65)), .tooLarge, in: fixture.storage)
    },
    Rule("an attribute's name must have 1 to 64 printable ASCII characters") { fixture in
      let longest = text(ofLength: Limits.attributeName)
      try await expectKept([.sample(attributes: [longest: ""])], in: fixture.storage)
      await expectRefused(
        .sample(attributes: [longest + "x": ""]), .tooLarge, in: fixture.storage)
      for name in ["", "é", "a\nb", "\0", "\u{7F}", "🔑"] {
        await expectRefused(.sample(attributes: [name: ""]), .badRequest, in: fixture.storage)
      }
    },
    Rule("an attribute's value can have up to 1,024 bytes") { fixture in
      let longest = text(ofLength: Limits.attributeValue)
      try await expectKept(
        [.sample(attributes: ["name": ""]), .sample(attributes: ["name": longest])],
        in: fixture.storage)
      await expectRefused(
        .sample(attributes: ["name": longest + "x"]), .tooLarge, in: fixture.storage)
    },
    Rule("all attributes together can have up to 16 KiB") { fixture in
      // 20 names of 3 bytes, and values that fill the 16,384 bytes.
      var full = attributes(20, value: text(ofLength: 816))
      full["999"] = text(ofLength: 1)
      try await expectKept([.sample(attributes: full)], in: fixture.storage)
      full["999"] = text(ofLength: 2)
      await expectRefused(.sample(attributes: full), .tooLarge, in: fixture.storage)
    },
    Rule("the limit of a page must be 1 to 1,000") { fixture in
      for limit in [1, Limits.page] {
        _ = try await fixture.storage.find(CredentialQuery(limit: limit))
      }
      for limit in [0, -1, Limits.page + 1, .max] {
        await expect(.badRequest) {
          try await fixture.storage.find(CredentialQuery(limit: limit))
        }
      }
    },
  ]
}

/// Returns this many attributes, with names of three digits.
private func attributes(_ count: Int, value: String = "value") -> Attributes {
  Attributes(Dictionary(uniqueKeysWithValues: (0..<count).map { (String(100 + $0), value) }))
}

private func expectKept(
  _ credentials: [NewCredential], in storage: UserStorage,
  sourceLocation: SourceLocation = #_sourceLocation
) async throws {
  for credential in credentials {
    let saved = try await storage.save(credential)
    let loaded = try await storage.load(credential.key)
    #expect(loaded.summary == saved, sourceLocation: sourceLocation)
    #expect(loaded.secret == credential.secret, sourceLocation: sourceLocation)
    #expect(
      try await storage.findAll(CredentialQuery(service: credential.key.service)).contains(saved),
      sourceLocation: sourceLocation)
  }
}

/// Expects a save to fail and all stored credentials to stay unchanged.
private func expectRefused(
  _ credential: NewCredential, _ code: StorageError.Code, in storage: UserStorage,
  sourceLocation: SourceLocation = #_sourceLocation
) async {
  await #expect(throws: Never.self, sourceLocation: sourceLocation) {
    let before = try await storage.findAll().map(\.revision.rawValue)
    await expectUnchanged(
      code, from: { try await storage.save(credential) }, sourceLocation: sourceLocation)
    let after = try await storage.findAll().map(\.revision.rawValue)
    #expect(after.sorted() == before.sorted(), sourceLocation: sourceLocation)
  }
}
