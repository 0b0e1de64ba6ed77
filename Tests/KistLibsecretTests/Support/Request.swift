import KistCore
import Testing

/// Something that is asked of a storage.
struct Request: Sendable, CustomTestStringConvertible {
  let testDescription: String
  private let isChange: Bool
  let isDelete: Bool
  private let body: @Sendable (OpenStorage) async throws -> Void

  init(
    _ description: String, isChange: Bool = false, isDelete: Bool = false,
    _ body: @escaping @Sendable (OpenStorage) async throws -> Void
  ) {
    testDescription = description
    self.isChange = isChange
    self.isDelete = isDelete
    self.body = body
  }

  func run(on storage: OpenStorage) async throws { try await body(storage) }

  /// The error that it gives, which says that nothing was changed where it is a change.
  func error(from storage: OpenStorage) async throws -> StorageError {
    let error = try #require(
      await #expect(throws: StorageError.self) { try await body(storage) })
    #expect(error.outcome == (isChange ? .unchanged : nil))
    return error
  }
}
