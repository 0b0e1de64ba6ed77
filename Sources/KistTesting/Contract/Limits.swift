import KistCore
import Testing

extension UserStorageContract {
  static let limits: [Rule] = [
    bounds(
      "a service must have 1 to 1,024 bytes",
      kept: [
        .sample(.init(service: "s")), .sample(.init(service: text(ofLength: Limits.keyPart))),
      ],
      tooLarge: [
        .sample(.init(service: text(ofLength: Limits.keyPart + 1))),
        // 1,025 bytes in 513 characters: the limit counts bytes.
        .sample(.init(service: String(repeating: "é", count: 512) + "x")),
      ],
      invalid: [.sample(.init(service: ""))]),
    bounds(
      "an account can have up to 1,024 bytes",
      kept: ["", text(ofLength: Limits.keyPart)].map { .sample(.init(service: "s", account: $0)) },
      tooLarge: [.sample(.init(service: "s", account: text(ofLength: Limits.keyPart + 1)))]),
    bounds(
      "a label can have up to 1,024 bytes",
      kept: [.sample(label: ""), .sample(label: text(ofLength: Limits.label))],
      tooLarge: [.sample(label: text(ofLength: Limits.label + 1))]),
    bounds(
      "a secret can have up to 512 KiB", kept: [.sample(secret: text(ofLength: Limits.secret))],
      tooLarge: [.sample(secret: text(ofLength: Limits.secret + 1))]),
    bounds(
      "a credential can have up to 64 attributes", kept: [.sample(attributes: attributes(64))],
      tooLarge: [.sample(attributes: attributes(65))]),
    bounds(
      "an attribute's name must have 1 to 256 bytes, without control characters",
      kept: [
        .sample(attributes: [text(ofLength: Limits.attributeName): ""]),
        .sample(attributes: ["é": "", "🔑": "", " ": ""]),
        // The Kelvin sign, which Unicode holds equal to K.
        .sample(attributes: ["K": "letter", "\u{212A}": "sign"]),
      ],
      tooLarge: [.sample(attributes: [text(ofLength: Limits.attributeName + 1): ""])],
      invalid: ["", "a\nb", "\0", "\u{7F}", "\u{85}"].map { .sample(attributes: [$0: ""]) }),
    bounds(
      "an attribute's value can have up to 1,024 bytes",
      kept: ["", text(ofLength: Limits.attributeValue)].map { .sample(attributes: ["name": $0]) },
      tooLarge: [.sample(attributes: ["name": text(ofLength: Limits.attributeValue + 1)])]),
    bounds(
      "all attributes together can have up to 16 KiB",
      kept: [.sample(attributes: fullAttributes(last: 1))],
      tooLarge: [.sample(attributes: fullAttributes(last: 2))]),
    Rule("the limit of a page must be 1 to 1,000") { storage in
      for limit in [1, Limits.page] { _ = try await storage.find(CredentialQuery(limit: limit)) }
      for limit in [0, -1, Limits.page + 1, .max] {
        await expect(.badRequest) { try await storage.find(CredentialQuery(limit: limit)) }
      }
    },
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
        (["": ""], .badRequest), (["\u{85}": ""], .badRequest),
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
func attributes(_ count: Int, value: String = "value") -> Attributes {
  Attributes(Dictionary(uniqueKeysWithValues: (0..<count).map { (String(100 + $0), value) }))
}

/// Returns 20 names of 3 bytes with values that fill the 16,384 bytes, and one with a value of
/// `last` bytes.
private func fullAttributes(last: Int) -> Attributes {
  var full = attributes(20, value: text(ofLength: 816))
  full["999"] = text(ofLength: last)
  return full
}

/// Returns a rule that a storage keeps some credentials and refuses others, which changes nothing.
private func bounds(
  _ name: String, kept: [NewCredential], tooLarge: [NewCredential], invalid: [NewCredential] = [],
  sourceLocation: SourceLocation = #_sourceLocation
) -> UserStorageContract.Rule {
  UserStorageContract.Rule(name) { storage in
    for credential in kept {
      let saved = try await storage.save(credential)
      let loaded = try await storage.load(credential.key)
      #expect(loaded.summary == saved, sourceLocation: sourceLocation)
      #expect(loaded.secret == credential.secret, sourceLocation: sourceLocation)
      let found = try await storage.findAll(CredentialQuery(service: credential.key.service))
      #expect(found.contains(saved), sourceLocation: sourceLocation)
    }
    let revisions = try await storage.findAll().map(\.revision.rawValue).sorted()
    for (credentials, code) in [(tooLarge, StorageError.Code.tooLarge), (invalid, .badRequest)] {
      for credential in credentials {
        await expectUnchanged(
          code, from: { try await storage.save(credential) }, sourceLocation: sourceLocation)
      }
    }
    let found = try await storage.findAll().map(\.revision.rawValue).sorted()
    #expect(found == revisions, sourceLocation: sourceLocation)
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
