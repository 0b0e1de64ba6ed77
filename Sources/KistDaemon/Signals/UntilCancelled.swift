/// Stops waiting for an uncancellable operation when the task is cancelled.
///
/// Then it returns `nil`. The operation continues, and its result is dropped.
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
