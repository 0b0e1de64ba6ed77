import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The pages of a find` {
  let store = try! TestStore()

  @Test func `end early so that each fits into a line of the protocol`() async throws {
    let value = String(repeating: "v", count: Limits.attributeValue)
    let names = (0..<15).map { String($0) }
    let attributes = Attributes(Dictionary(uniqueKeysWithValues: names.map { ($0, value) }))
    let keys = (0..<60).map { CredentialKey(service: "service", account: String($0)) }
    try await store.fill(keys.map { .sample($0, attributes: attributes) })
    let opened = try await store.open()
    let first = try await opened.credentials.find(CredentialQuery())
    // Were every byte escaped in JSON as six, the page would still fit.
    #expect(first.credentials.count * 15 * Limits.attributeValue * 6 < Limits.line)
    #expect(first.next != nil)
    #expect(try await opened.credentials.findAll().map(\.key).sorted() == keys.sorted())
    await opened.close()
  }

  @Test func `of one service do not go on with the cursor of another`() async throws {
    try await store.fill(threeCredentials)
    let opened = try await store.open()
    let page = try await opened.credentials.find(CredentialQuery(service: "example.org", limit: 1))
    await expect(.badRequest) {
      try await opened.credentials.find(CredentialQuery(service: "example.net", after: page.next))
    }
    await opened.close()
  }
}
