import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The plan of an import` {
  private let storage = UserStorage.inMemory(now: { .sample })

  private func plan(
    _ lines: [(String, String)], lastCounts: Bool = false, isComplete: Bool = false
  ) async throws -> ImportPlan {
    var file = ForeignCredentials(isComplete: isComplete)
    for (index, (service, secret)) in lines.enumerated() {
      try file.add(credential(service, secret), at: index + 1)
    }
    return try await ImportPlan(
      of: file, lastCounts: lastCounts, with: storage, progress: { _, _ in })
  }

  private func credential(_ service: String, _ secret: String) -> NewCredential {
    NewCredential(key: CredentialKey(service: service), secret: Secret(utf8: secret))
  }

  @Test func `reports what is new, the same, and different`() async throws {
    try await storage.save(credential("same", "1"))
    try await storage.save(credential("differs", "old"))
    let plan = try await plan([("new", "1"), ("same", "1"), ("differs", "1")])
    #expect(plan.rows.map(\.state) == [.new, .same, .differs])
    #expect(plan.changes(replacing: false).map(\.credential.key.service) == ["new"])
    #expect(plan.changes(replacing: true).map(\.credential.key.service) == ["new", "differs"])
  }

  @Test func `names the stored credential of the same host under its other name`() async throws {
    for service in ["https://a.example", "b.example", "c.example", "https://d.example:1"] {
      try await storage.save(credential(service, "1"))
    }
    let plan = try await plan([
      ("a.example", "1"), ("https://b.example", "1"), ("c.example", "2"), ("d.example", "1"),
      ("http://c.example", "1"),
    ])
    #expect(plan.neighbours.map(\.new.service) == ["a.example", "https://b.example"])
    #expect(plan.neighbours.map(\.stored.service) == ["https://a.example", "b.example"])
  }

  @Test func `names the newest stored credential of a service that gets another account`()
    async throws
  {
    func key(_ account: String) -> CredentialKey {
      CredentialKey(service: "https://a.example", account: account)
    }
    for account in ["second", "first"] {
      try await storage.save(NewCredential(key: key(account), secret: Secret(utf8: "1")))
    }
    var file = ForeignCredentials()
    for (number, account) in ["first", "third"].enumerated() {
      try file.add(NewCredential(key: key(account), secret: Secret(utf8: "1")), at: number + 1)
    }
    let plan = try await ImportPlan(of: file, lastCounts: false, with: storage) { _, _ in }
    #expect(plan.neighbours.map(\.new) == [key("third")])
    #expect(plan.neighbours.map(\.stored) == [key("first")])
  }

  @Test(arguments: [false, true])
  func `has one of several of a name stand, and lists the others`(lastCounts: Bool) async throws {
    let plan = try await plan(
      [("a", "1"), ("a", "2"), ("a", "2"), ("b", "1")], lastCounts: lastCounts)
    #expect(
      plan.rows.map(\.state) == (lastCounts ? [.clash, .new, .new] : [.new, .clash, .clash, .new]))
    let changes = plan.changes(replacing: lastCounts)
    #expect(changes.map(\.credential.secret.text) == (lastCounts ? ["2", "1"] : ["1", "1"]))
    #expect(plan.leftOut == (lastCounts ? [.repeated: [3]] : [:]))
  }

  @Test(arguments: [[:], ["tool": "keyring"], ["mine": "1"]] as [Attributes])
  func `replaces a credential that the program of an item would not find, with the whole item`(
    attributes: Attributes
  ) async throws {
    let key = CredentialKey(service: "pypi", account: "u")
    try await storage.save(
      NewCredential(key: key, secret: Secret(utf8: "p"), attributes: attributes))
    let line = """
      {"attributes":{"application":"Python keyring library","service":"pypi","username":"u"},"value":"cA=="}
      """
    let file = try ForeignFormat.keyring.read(Secret(utf8: line))
    func plan() async throws -> ImportPlan {
      try await ImportPlan(of: file, lastCounts: false, with: storage, progress: { _, _ in })
    }
    #expect(try await plan().rows.map(\.state) == [.differs])
    let changes = try await plan().changes(replacing: true)
    #expect(changes.map(\.credential.attributes) == file.entries.map(\.credential.attributes))
    for change in changes { _ = try await storage.save(change) }
    #expect(try await plan().rows.map(\.state) == [.same])
  }

  @Test func `overwrites nothing that came in between`() async throws {
    try await storage.save(credential("b", "old"))
    let plan = try await plan([("a", "1"), ("b", "1")])
    try await storage.save(credential("a", "theirs"))
    try await storage.save(credential("b", "theirs"))
    for change in plan.changes(replacing: true) {
      let error = await #expect(throws: StorageError.self) { _ = try await storage.save(change) }
      #expect(error?.code == .conflict)
    }
  }

  @Test func `of a file of secrets leaves label and attributes as they are`() async throws {
    var old = credential("a", "old")
    old.label = "Mine"
    old.attributes = ["kind": "token"]
    try await storage.save(old)
    let change = try #require(try await plan([("a", "new")]).changes(replacing: true).first)
    #expect(change.credential.label == "Mine")
    #expect(change.credential.attributes == ["kind": "token"])
    #expect(try await plan([("a", "old")]).rows.map(\.state) == [.same])
  }

  @Test(arguments: [nil, "git", "docker"])
  func `leaves credentials of the user or of another tool unchanged`(owner: String?) async throws {
    var old = credential("a", "old")
    old.attributes = owner.map { ["tool": $0, "mine": "1"] } ?? ["mine": "1"]
    try await storage.save(old)
    var new = credential("a", "new")
    new.attributes = ["tool": "git"]
    var file = ForeignCredentials()
    try file.add(new, at: 1)
    let plan = try await ImportPlan(
      of: file, lastCounts: true, with: storage, progress: { _, _ in })
    let changes = plan.changes(replacing: true)
    #expect(plan.rows.map(\.state) == [owner == "docker" ? .clash : .differs])
    #expect(
      changes.map(\.credential.attributes)
        == (owner == "docker" ? [] : [old.attributes]))
    #expect(changes.allSatisfy { $0.keep == .expiresAt })
    #expect(plan.takesAll(with: changes) == (owner != "docker"))
  }

  @Test(arguments: [false, true])
  func `has what the file's program would take saved last, and apart`(firstIsTaken: Bool)
    async throws
  {
    var file = ForeignCredentials(firstIsTaken: firstIsTaken)
    for (place, service) in ["a", "b", "a/1", "a/2"].enumerated() {
      var new = credential(service, "1")
      new.attributes = ["tool": "git", "host": String(service.prefix(1))]
      try file.add(new, at: place + 1)
    }
    // Saved by git, and by hand.
    for (place, account) in ["x", "y", "z"].enumerated() {
      let key = CredentialKey(service: "c", account: account)
      var new = NewCredential(key: key, secret: Secret(utf8: "1"))
      if account == "x" { new.attributes = ["tool": "git", "host": "d"] }
      try file.add(new, at: place + 5)
    }
    let plan = try await ImportPlan(
      of: file, lastCounts: false, with: storage, progress: { _, _ in })
    let portions = plan.changes(replacing: false).portionsByAge
    #expect(
      portions.map { $0.map { $0.credential.key.service + $0.credential.key.account } }
        == (firstIsTaken
          ? [["cz"], ["cy"], ["cx", "a/2"], ["a/1", "b"], ["a"]]
          : [["a", "b"], ["a/1"], ["a/2", "cx"], ["cy"], ["cz"]]))
  }

  @Test func `knows whether anything of the file is not taken`() async throws {
    var file = ForeignCredentials()
    try file.add(credential("a", "1"), at: 1)
    file.leaveOut(.repeated, at: 2)
    for (what, takesAll) in [(LeftOut.repeated, true), (.note, false)] {
      file.leaveOut(what, at: 3)
      let plan = try await ImportPlan(
        of: file, lastCounts: false, with: storage, progress: { _, _ in })
      #expect(plan.takesAll(with: plan.changes(replacing: false)) == takesAll)
      #expect(!plan.takesAll(with: []))
    }
  }

  @Test func `of a file of kist's own compares everything`() async throws {
    var old = credential("a", "1")
    old.label = "Mine"
    try await storage.save(old)
    let plan = try await plan([("a", "1")], isComplete: true)
    #expect(plan.rows.map(\.state) == [.differs])
    #expect(try #require(plan.changes(replacing: true).first).credential.label == nil)
  }

  @Test func `takes what was deleted meanwhile for new`() async throws {
    var leaky = storage
    try await storage.save(credential("a", "1"))
    leaky.load = { _ throws(StorageError) in throw .notFound }
    var file = ForeignCredentials()
    try file.add(credential("a", "1"), at: 1)
    let plan = try await ImportPlan(of: file, lastCounts: false, with: leaky, progress: { _, _ in })
    #expect(plan.rows.map(\.state) == [.new])
  }

  @Test func `says how far it is`() async throws {
    var file = ForeignCredentials()
    for number in 0..<130 {
      try await storage.save(credential("\(number)", "1"))
      try file.add(credential("\(number)", "1"), at: number)
    }
    var told: [Int] = []
    _ = try await ImportPlan(
      of: file, lastCounts: false, with: storage,
      progress: { done, all in
        told.append(done)
        #expect(all == 130)
      })
    #expect(told == [64, 128, 130])
  }
}
