import KistCore
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(5))) struct `Changes that wait for a command` {
  private let waiting = WaitingChanges()

  private func key(_ service: String) -> CredentialKey { CredentialKey(service: service) }

  private func saved(_ service: String, _ revision: String) -> CredentialChange {
    .saved(key(service), Revision(rawValue: revision))
  }

  /// All that waits, once nothing comes any more.
  private func rest() async throws -> [CredentialChange] {
    waiting.end(nil)
    var changes: [CredentialChange] = []
    while let change = try await waiting.next() { changes.append(change) }
    return changes
  }

  @Test func `are the latest of each key, in the order of these`() async throws {
    waiting.put(saved("a", "1"))
    waiting.put(saved("b", "2"))
    waiting.put(.deleted(key("a"), Revision(rawValue: "3")))
    #expect(try await rest() == [saved("b", "2"), .deleted(key("a"), Revision(rawValue: "3"))])
  }

  @Test func `are a reset alone where there is one, before and behind it`() async throws {
    waiting.put(saved("a", "1"))
    waiting.put(.reset)
    waiting.put(saved("b", "2"))
    #expect(try await rest() == [.reset])
  }

  @Test func `go on after a reset that was taken`() async throws {
    waiting.put(.reset)
    #expect(try await waiting.next() == .reset)
    waiting.put(saved("a", "1"))
    #expect(try await rest() == [saved("a", "1")])
  }

  @Test(arguments: [0, 1])
  func `are a reset in place of more keys than there is room for`(beyond: Int) async throws {
    for number in 0..<Limits.watch + beyond { waiting.put(saved("s\(number)", "1")) }
    let rest = try await rest()
    #expect(rest.count == (beyond == 0 ? Limits.watch : 1))
    #expect(rest.contains(.reset) == (beyond == 1))
  }

  @Test func `come before the error that ends them`() async throws {
    waiting.put(saved("a", "1"))
    waiting.end(.notFound)
    #expect(try await waiting.next() == saved("a", "1"))
    await #expect(throws: StorageError.notFound) { try await waiting.next() }
  }

  @Test func `are waited for`() async throws {
    async let next = waiting.next()
    waiting.put(.reset)
    #expect(try await next == .reset)
  }
}
