import KistCore
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct UnimplementedTests {
  private struct Endpoint: CustomTestStringConvertible {
    let name: String
    let call: @Sendable () async throws -> Void
    var testDescription: String { name }

    init(_ name: String, _ call: @escaping @Sendable () async throws -> Void) {
      self.name = name
      self.call = call
    }
  }

  private static let endpoints = [
    Endpoint("UserStorage.save") { try await UserStorage.unimplemented.save(.sample()) },
    Endpoint("UserStorage.load") { _ = try await UserStorage.unimplemented.load(.sample) },
    Endpoint("UserStorage.delete") { try await UserStorage.unimplemented.delete(.sample) },
    Endpoint("UserStorage.find") { _ = try await UserStorage.unimplemented.findAll() },
    Endpoint("StorageAccess.status") { _ = try await StorageAccess.unimplemented.status() },
    Endpoint("StorageAccess.lock") { _ = try await StorageAccess.unimplemented.lock() },
    Endpoint("StorageAccess.unlock") { _ = try await StorageAccess.unimplemented.unlock(nil) },
  ]

  @Test(arguments: endpoints)
  private func `an endpoint that is not implemented fails the test by its name`(endpoint: Endpoint)
    async
  {
    await withKnownIssue {
      let error = await #expect(throws: StorageError.self) { try await endpoint.call() }
      #expect(error?.code == .internal)
    } matching: { issue in
      issue.comments.contains { $0.rawValue.hasPrefix(endpoint.name + " ") }
    }
  }
}
