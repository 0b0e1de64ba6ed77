import KistCore
import Testing

extension UserStorageContract {
  static let refusals: [Rule] = [
    Rule("a key with NUL or another control character is a badRequest") { fixture in
      for character in ["\0", "\n", "\r", "\t", "\u{1B}", "\u{7F}", "\u{85}"] {
        let keys = [
          CredentialKey(service: "a\(character)b"), CredentialKey(service: character),
          CredentialKey(service: "a", account: "b\(character)"),
        ]
        for key in keys { await expectRefused(key, .badRequest, in: fixture.storage) }
        await expectUnchanged(.badRequest) {
          try await fixture.storage.save(.sample(label: "a\(character)b"))
        }
      }
      let found = try await fixture.storage.findAll()
      #expect(found.isEmpty)
    },
    Rule("every operation refuses a key that exceeds the limits") { fixture in
      await expectRefused(CredentialKey(service: ""), .badRequest, in: fixture.storage)
      let tooLong = text(ofLength: Limits.keyPart + 1)
      await expectRefused(CredentialKey(service: tooLong), .tooLarge, in: fixture.storage)
      await expectRefused(
        CredentialKey(service: "a", account: tooLong), .tooLarge, in: fixture.storage)
    },
    Rule("a query is refused if its attributes exceed the limits") { fixture in
      let queries: [(Attributes, StorageError.Code)] = [
        (["": ""], .badRequest), (["é": ""], .badRequest),
        ([text(ofLength: Limits.attributeName + 1): ""], .tooLarge),
        (["name": text(ofLength: Limits.attributeValue + 1)], .tooLarge),
      ]
      for (attributes, code) in queries {
        await expect(code) {
          try await fixture.storage.find(CredentialQuery(attributes: attributes))
        }
      }
    },
    Rule("no error contains any part of the request") { fixture in
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
