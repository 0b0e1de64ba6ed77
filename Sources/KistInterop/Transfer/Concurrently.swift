package import KistCore

/// How much is asked for at once: enough that kistd is never without work, and little to be lost by a
/// signal between two portions.
let largestPortion = 64

extension RandomAccessCollection where Index == Int {
  /// The elements in portions of as many as are asked for at once.
  package var portions: [SubSequence] {
    stride(from: startIndex, to: endIndex, by: largestPortion).map {
      self[$0..<Swift.min($0 + largestPortion, endIndex)]
    }
  }
}

/// Asks for all of these at once, and gives what comes of each, in their order.
package func concurrently<Input: Sendable, Output: Sendable>(
  _ inputs: some Collection<Input>,
  _ body: @escaping @Sendable (Input) async throws(StorageError) -> Output
) async -> [Result<Output, StorageError>] {
  await withTaskGroup(of: (Int, Result<Output, StorageError>).self) { group in
    for (index, input) in inputs.enumerated() {
      group.addTask {
        do throws(StorageError) { return (index, .success(try await body(input))) } catch {
          return (index, .failure(error))
        }
      }
    }
    var results: [Result<Output, StorageError>?] = Array(repeating: nil, count: inputs.count)
    for await (index, result) in group { results[index] = result }
    return results.compactMap(\.self)
  }
}
