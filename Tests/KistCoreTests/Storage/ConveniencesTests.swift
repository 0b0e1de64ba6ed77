import KistCore
import KistTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct ConveniencesTests {
  @Test func `findAll follows the cursors, short and empty pages included`() async throws {
    let pages: [String?: (accounts: [String], next: String?)] = [
      nil: (["a", "b"], "1"), "1": ([], "2"), "2": (["c"], "3"), "3": ([], nil),
    ]
    var storage = UserStorage.unimplemented
    storage.find = { query throws(StorageError) in
      guard query.service == "s", query.limit == 7, let page = pages[query.after] else {
        throw .badRequest("not the query that was made")
      }
      return CredentialPage(
        credentials: page.accounts.map { .sample(of: .sample(.init(service: "s", account: $0))) },
        next: page.next)
    }
    let found = try await storage.findAll(CredentialQuery(service: "s", limit: 7))
    #expect(found.map(\.key.account) == ["a", "b", "c"])
  }

  @Test(arguments: [["1", "1"], ["1", "2", "3", "1"]])
  func `findAll ends where a page leads back to one before it`(cursors: [String]) async {
    let asked = Atomic(0)
    var storage = UserStorage.unimplemented
    storage.find = { query throws(StorageError) in
      guard asked.add(1, ordering: .relaxed).newValue < 100 else {
        throw .timeout(after: .seconds(1))
      }
      let place = query.after.flatMap(cursors.firstIndex) ?? -1
      return CredentialPage(
        credentials: [.sample()], next: cursors[min(place + 1, cursors.count - 1)])
    }
    await expect(.internal) { [storage] in try await storage.findAll() }
  }

  @Test func `findAll ends where pages lead to ever new ones`() async {
    let asked = Atomic(0)
    var storage = UserStorage.unimplemented
    let attributes = Attributes(
      Dictionary(
        uniqueKeysWithValues: (0..<16).map { ("a\($0)", String(repeating: "x", count: 1000)) }))
    let page = [CredentialSummary](
      repeating: .sample(of: .sample(attributes: attributes)), count: 100)
    storage.find = { _ throws(StorageError) in
      CredentialPage(credentials: page, next: "\(asked.add(1, ordering: .relaxed).newValue)")
    }
    await expect(.tooLarge) { [storage] in try await storage.findAll() }
  }

  @Test(arguments: [
    (0, 1, StorageError.Code.internal), (0, 1 << 20, .tooLarge), (1, 1, .tooLarge),
    (200 * 1000, 4, .tooLarge),
  ])
  func `the pages of a list end, whatever their size`(
    size: Int, cursorSize: Int, code: StorageError.Code
  ) {
    var pages = PagesRead()
    let padding = String(repeating: "c", count: cursorSize)
    let error = #expect(throws: StorageError.self) {
      for number in 0... { _ = try pages.add(next: "\(number)\(padding)", size: size) }
    }
    #expect(error?.code == code)
  }

  @Test func `a list may have a million credentials`() throws {
    var pages = PagesRead()
    for number in 1...1000 { _ = try pages.add(next: "\(number)", size: 1000 * 200) }
  }

  @Test func `findAll compares cursors byte by byte`() async throws {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    var storage = UserStorage.unimplemented
    storage.find = { query throws(StorageError) in
      CredentialPage(
        credentials: [.sample()],
        next: query.after == nil
          ? composed : query.after?.hasSameBytes(as: composed) == true ? decomposed : nil)
    }
    #expect(try await storage.findAll().count == 3)
  }

  @Test func `a save passes its condition on`() async throws {
    let condition = Condition.ifRevision(Revision(rawValue: "k3f9.1"))
    var storage = UserStorage.unimplemented
    storage.save = { request throws(StorageError) in
      guard request.condition == condition else { throw .notFound }
      return .sample()
    }
    try await storage.save(.sample(), if: condition)
  }
}
