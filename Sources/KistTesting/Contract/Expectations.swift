package import KistCore
package import Testing

/// Expects a request to fail with this code; returns the error.
@discardableResult
package func expect<Reply>(
  _ code: StorageError.Code, from request: () async throws -> Reply,
  sourceLocation: SourceLocation = #_sourceLocation
) async -> StorageError? {
  do {
    _ = try await request()
    Issue.record("the request did not fail with \(code)", sourceLocation: sourceLocation)
  } catch let error as StorageError {
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    return error
  } catch {
    Issue.record(error, sourceLocation: sourceLocation)
  }
  return nil
}

/// Expects a change to fail with this code and with the outcome `unchanged`.
@discardableResult
func expectUnchanged<Reply>(
  _ code: StorageError.Code, from change: () async throws -> Reply,
  sourceLocation: SourceLocation = #_sourceLocation
) async -> StorageError? {
  let error = await expect(code, from: change, sourceLocation: sourceLocation)
  if let error { #expect(error.outcome == .unchanged, sourceLocation: sourceLocation) }
  return error
}

/// Returns an ASCII text of this many bytes.
func text(ofLength length: Int) -> String { String(repeating: "x", count: length) }
