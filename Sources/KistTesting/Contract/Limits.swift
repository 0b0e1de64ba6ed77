import KistCore
import Testing

extension UserStorageContract {
  static let limits: [Rule] = [
    Rule("a service must have 1 to 1,024 bytes") { storage in
      try await expectKept(.sample(.init(service: "s")), in: storage)
      let longest = text(ofLength: Limits.keyPart)
      try await expectKept(.sample(.init(service: longest)), in: storage)
      await expectRefused(.sample(.init(service: "")), .badRequest, in: storage)
      await expectRefused(.sample(.init(service: longest + "x")), .tooLarge, in: storage)
      // 1,025 bytes in 513 characters: the limit counts bytes.
      let accented = String(repeating: "é", count: 512) + "x"
      await expectRefused(.sample(.init(service: accented)), .tooLarge, in: storage)
    },
    Rule("an account can have up to 1,024 bytes") { storage in
      let longest = text(ofLength: Limits.keyPart)
      try await expectKept(
        .sample(.init(service: "s")), .sample(.init(service: "s", account: longest)), in: storage)
      await expectRefused(
        .sample(.init(service: "s", account: longest + "x")), .tooLarge, in: storage)
    },
    Rule("a label can have up to 1,024 bytes") { storage in
      let longest = text(ofLength: Limits.label)
      try await expectKept(.sample(label: ""), .sample(label: longest), in: storage)
      await expectRefused(.sample(label: longest + "x"), .tooLarge, in: storage)
    },
    Rule("a secret can have up to 512 KiB") { storage in
      let longest = text(ofLength: Limits.secret)
      try await expectKept(.sample(secret: longest), in: storage)
      await expectRefused(.sample(secret: longest + "x"), .tooLarge, in: storage)
    },
    Rule("a credential can have up to 64 attributes") { storage in
      try await expectKept(.sample(attributes: attributes(64)), in: storage)
      await expectRefused(.sample(attributes: attributes(65)), .tooLarge, in: storage)
    },
    Rule("an attribute's name must have 1 to 64 printable ASCII characters") { storage in
      let longest = text(ofLength: Limits.attributeName)
      try await expectKept(.sample(attributes: [longest: ""]), in: storage)
      await expectRefused(.sample(attributes: [longest + "x": ""]), .tooLarge, in: storage)
      for name in ["", "é", "a\nb", "\0", "\u{7F}", "🔑"] {
        await expectRefused(.sample(attributes: [name: ""]), .badRequest, in: storage)
      }
    },
    Rule("an attribute's value can have up to 1,024 bytes") { storage in
      let longest = text(ofLength: Limits.attributeValue)
      try await expectKept(
        .sample(attributes: ["name": ""]), .sample(attributes: ["name": longest]), in: storage)
      await expectRefused(.sample(attributes: ["name": longest + "x"]), .tooLarge, in: storage)
    },
    Rule("all attributes together can have up to 16 KiB") { storage in
      // 20 names of 3 bytes, and values that fill the 16,384 bytes.
      var full = attributes(20, value: text(ofLength: 816))
      full["999"] = text(ofLength: 1)
      try await expectKept(.sample(attributes: full), in: storage)
      full["999"] = text(ofLength: 2)
      await expectRefused(.sample(attributes: full), .tooLarge, in: storage)
    },
    Rule("the limit of a page must be 1 to 1,000") { storage in
      for limit in [1, Limits.page] { _ = try await storage.find(CredentialQuery(limit: limit)) }
      for limit in [0, -1, Limits.page + 1, .max] {
        await expect(.badRequest) { try await storage.find(CredentialQuery(limit: limit)) }
      }
    },
  ]

  static let refusals: [Rule] = [
    Rule("a key with NUL or another control character is a badRequest") { storage in
      for character in ["\0", "\n", "\r", "\t", "\u{1B}", "\u{7F}", "\u{85}"] {
        let keys = [
          CredentialKey(service: "a\(character)b"), CredentialKey(service: character),
          CredentialKey(service: "a", account: "b\(character)"),
        ]
        for key in keys { await expectRefused(key, .badRequest, in: storage) }
        await expectUnchanged(.badRequest) {
          try await storage.save(.sample(label: "a\(character)b"))
        }
      }
      let found = try await storage.findAll()
      #expect(found.isEmpty)
    },
    Rule("every operation refuses a key that exceeds the limits") { storage in
      await expectRefused(CredentialKey(service: ""), .badRequest, in: storage)
      let tooLong = text(ofLength: Limits.keyPart + 1)
      await expectRefused(CredentialKey(service: tooLong), .tooLarge, in: storage)
      await expectRefused(CredentialKey(service: "a", account: tooLong), .tooLarge, in: storage)
    },
    Rule("a query is refused if its attributes exceed the limits") { storage in
      let queries: [(Attributes, StorageError.Code)] = [
        (["": ""], .badRequest), (["é": ""], .badRequest),
        ([text(ofLength: Limits.attributeName + 1): ""], .tooLarge),
        (["name": text(ofLength: Limits.attributeValue + 1)], .tooLarge),
      ]
      for (attributes, code) in queries {
        await expect(code) { try await storage.find(CredentialQuery(attributes: attributes)) }
      }
    },
    Rule("no error contains any part of the request") { storage, fixture in
      for error in try await canaryErrors(in: fixture) {
        var dumped = ""
        dump(error, to: &dumped)
        for text in [error.message, error.hint ?? "", "\(error)", dumped] {
          #expect(!text.contains(canary), "\(error.code)")
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
  _ credentials: NewCredential..., in storage: UserStorage,
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

private let canary = "canary-7Qx2"

private func expectRefused(
  _ key: CredentialKey, _ code: StorageError.Code, in storage: UserStorage,
  sourceLocation: SourceLocation = #_sourceLocation
) async {
  await expectUnchanged(
    code, from: { try await storage.save(.sample(key)) }, sourceLocation: sourceLocation)
  await expectUnchanged(
    code, from: { try await storage.delete(key) }, sourceLocation: sourceLocation)
  await expect(code, from: { try await storage.load(key) }, sourceLocation: sourceLocation)
  let query = CredentialQuery(service: key.service, account: key.account)
  await expect(code, from: { try await storage.find(query) }, sourceLocation: sourceLocation)
}

/// Returns an error of every kind that a healthy storage throws; every request contains the canary.
private func canaryErrors(in fixture: UserStorageContract.Fixture) async throws -> [StorageError] {
  let storage = fixture.storage
  let key = CredentialKey(service: canary, account: canary)
  func credential(_ key: CredentialKey = key, label: String = canary) -> NewCredential {
    .sample(
      key, secret: canary, label: label, attributes: [canary: canary],
      expiresAt: fixture.clock.now())
  }
  let long = String(repeating: canary, count: Limits.secret / canary.utf8.count + 1)
  try await storage.save(credential())
  return await [
    expect(.notFound) { try await storage.load(.init(service: canary)) },
    expect(.expired) { try await storage.load(key) },
    expect(.conflict) { try await storage.save(credential(), if: .ifAbsent) },
    expect(.conflict) {
      try await storage.save(credential(), if: .ifRevision(Revision(rawValue: canary)))
    },
    expect(.conflict) {
      try await storage.delete(DeleteRequest(key: key, ifRevision: Revision(rawValue: canary)))
    },
    expect(.badRequest) { try await storage.save(credential(.init(service: "\(canary)\n"))) },
    expect(.badRequest) { try await storage.save(credential(label: "\(canary)\n")) },
    expect(.badRequest) {
      try await storage.find(.init(service: canary, after: "\(canary) is no cursor"))
    },
    expect(.tooLarge) { try await storage.save(.sample(key, secret: long)) },
    expect(.tooLarge) { try await storage.save(credential(.init(service: long))) },
    expect(.tooLarge) { try await storage.find(.init(attributes: [canary: long])) },
  ].compactMap(\.self)
}
