/// Waits for what cannot be cancelled no longer than it is wanted; `nil` when this task is cancelled,
/// and then the body goes on, and what it gives is dropped.
func untilCancelled<Result: Sendable>(
  _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result? {
  let (results, result) = AsyncThrowingStream.makeStream(of: Result.self)
  Task {
    do {
      result.yield(try await body())
    } catch {
      result.finish(throwing: error)
    }
  }
  for try await result in results { return result }
  return nil
}
