import KistCore
import KistInterop
import KistTesting
import Synchronization
import Testing

/// Has a tool use a storage; what it is answered.
typealias Use = @Sendable (UserStorage) async -> Secret

@Suite(.timeLimit(.minutes(10))) struct `A credential that the user saved and a tool saves again` {
  /// A key, and what saves the secret `new` under it.
  private static let uses: [(CredentialKey, Use)] = [
    (
      CredentialKey(service: "https://h", account: "u"),
      Call.git("store", "protocol=https host=h username=u password=new").use
    ),
    (CredentialKey(service: "r", account: "u"), Call.store("r", "u", "new").use),
    (
      CredentialKey(service: "terraform:h"),
      Call(
        helper: answerTerraform, arguments: ["store", "h"],
        input: Secret(utf8: #"{"token":"new"}"#)
      ).use
    ),
    (
      CredentialKey(service: "s", account: "u"),
      Call(helper: answerKeyring, arguments: ["set", "s", "u"], input: Secret(utf8: "new\n")).use
    ),
    (
      CredentialKey(service: "cargo:i"),
      cargo(#""kind":"login","token":"new""#)
    ),
  ]

  @Test(arguments: uses)
  func `keeps its label and its attributes, and belongs to no tool`(
    key: CredentialKey, use: Use
  ) async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    try await storage.save(
      .sample(key, secret: "old", label: "precious", attributes: ["team": "ops"]))
    _ = await use(storage)
    let after = try await storage.load(key)
    #expect(after.secret.text == "new")
    #expect(after.summary.label == "precious")
    #expect(after.summary.attributes == ["team": "ops"])
  }

  @Test(arguments: uses)
  func `keeps what the user adds, if the tool saved it first`(
    key: CredentialKey, use: Use
  ) async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    _ = await use(storage)
    let first = try await storage.load(key).summary
    try await storage.save(
      .sample(key, secret: "old", label: "precious", attributes: ["team": "ops"]), keep: .all)
    _ = await use(storage)
    let after = try await storage.load(key)
    #expect(after.secret.text == "new")
    #expect(after.summary.label == "precious")
    #expect(after.summary.attributes == first.attributes.merging(["team": "ops"]))
    #expect(first.attributes["tool"] != nil)
  }

  @Test(arguments: uses)
  func `keeps its expiry with the same secret, and loses it with a new one`(
    key: CredentialKey, use: Use
  ) async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    _ = await use(storage)
    let moment = Timestamp.sample.advanced(bySeconds: 9)
    for (secret, expiry) in [("new", moment), ("old", nil)] {
      try await storage.save(.sample(key, secret: secret, expiresAt: moment), keep: .all)
      _ = await use(storage)
      #expect(try await storage.load(key).summary.expiresAt == expiry)
    }
  }

  @Test func `is not written again by git, with what the user added`() async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    let (key, use) = Self.uses[0]
    _ = await use(storage)
    let saved = try await storage.save(
      .sample(
        key, secret: "new", label: "precious", attributes: ["team": "ops"],
        expiresAt: Timestamp.sample.advanced(bySeconds: 9)), keep: .all)
    _ = await use(storage)
    #expect(try await storage.findAll() == [saved])
  }

  @Test(arguments: uses)
  func `is not written with the secret that it has`(key: CredentialKey, use: Use) async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    let saved = try await storage.save(
      .sample(key, secret: "new", expiresAt: Timestamp.sample.advanced(bySeconds: 9)))
    _ = await use(storage)
    #expect(try await storage.findAll() == [saved])
  }

  @Test(arguments: uses)
  func `takes the time of the new secret where it has expired`(
    key: CredentialKey, use: Use
  ) async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    try await storage.save(.sample(key, secret: "new", expiresAt: .sample))
    _ = await use(storage)
    #expect(try await storage.load(key).secret.text == "new")
  }

  @Test(arguments: uses)
  func `is looked at again where it changes meanwhile`(
    key: CredentialKey, use: Use
  ) async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    var meddled = storage
    let isFirst = Atomic(true)
    meddled.save = { request throws(StorageError) in
      if isFirst.exchange(false, ordering: .relaxed) {
        try await storage.save(.sample(key, secret: "old", attributes: ["tool": "another"]))
      }
      return try await storage.save(request)
    }
    _ = await use(meddled)
    let after = try await storage.load(key)
    #expect(after.secret.text == "old")
    #expect(after.summary.attributes == ["tool": "another"])
  }

  @Test func `a refresh token stays where its password was changed meanwhile`() async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    _ = await Call.git(
      "store", "protocol=https host=h username=u password=p oauth_refresh_token=r"
    ).answer(from: storage)
    var meddled = storage
    meddled.delete = { request throws(StorageError) in
      if request.ifRevision != nil {
        try await storage.save(.sample(request.key, secret: "changed"))
      }
      return try await storage.delete(request)
    }
    _ = await Call.git("erase", "protocol=https host=h username=u password=p")
      .answer(from: meddled)
    #expect(try await storage.findAll().count == 2)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A credential that another tool saved` {
  private static let uses: [(CredentialKey, Use)] = [
    (
      CredentialKey(service: "aws:n", account: "id"), Call(helper: answerAWS, arguments: ["n"]).use
    ),
    (
      CredentialKey(service: "kubectl:n", account: "token"),
      Call(helper: answerKubectl, arguments: ["n"]).use
    ),
    (
      CredentialKey(service: "terraform:h"),
      Call(helper: answerTerraform, arguments: ["get", "h"]).use
    ),
    (
      CredentialKey(service: "terraform:h"),
      Call(helper: answerTerraform, arguments: ["forget", "h"]).use
    ),
    (CredentialKey(service: "cargo:i"), cargo(#""kind":"get","operation":"read""#)),
    (CredentialKey(service: "cargo:i"), cargo(#""kind":"logout""#)),
  ]

  @Test(arguments: uses)
  func `is neither given nor deleted`(key: CredentialKey, use: Use) async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    let saved = try await storage.save(
      .sample(key, secret: "hunter2", attributes: ["tool": "another"]))
    #expect(!(await use(storage)).text.contains("hunter2"))
    #expect(try await storage.findAll() == [saved])
  }
}

extension Call {
  fileprivate var use: Use { { await answer(from: $0).output } }
}

/// A line of cargo's about the registry `i`.
private func cargo(_ members: String) -> Use {
  let line = Secret(utf8: #"{"v":1,"registry":{"index-url":"i"},\#(members)}"#)
  return { storage in
    await answerCargo(line, storage, now: .sample) { _ throws(StorageError) in
      throw .internal("nothing is to be asked")
    }
  }
}
