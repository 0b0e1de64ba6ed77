import KistCore
import Testing

/// Expects a request to fail with this code, and gives the error to look at.
@discardableResult
func expect<Reply>(
  _ code: StorageError.Code, from request: () async throws -> Reply,
  sourceLocation: SourceLocation = #_sourceLocation
) async -> StorageError? {
  do {
    _ = try await request()
    Issue.record("an answer came instead of \(code)", sourceLocation: sourceLocation)
  } catch let error as StorageError {
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    return error
  } catch {
    Issue.record(error, sourceLocation: sourceLocation)
  }
  return nil
}
