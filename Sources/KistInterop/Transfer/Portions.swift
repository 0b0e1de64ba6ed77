package import KistCore

/// The number of concurrent requests.
///
/// It keeps kistd busy, and is small enough that a signal between two portions loses little.
let largestPortion = 64

extension RandomAccessCollection where Index == Int {
  /// The elements in portions for concurrent requests.
  package var portions: [SubSequence] {
    stride(from: startIndex, to: endIndex, by: largestPortion).map {
      self[$0..<Swift.min($0 + largestPortion, endIndex)]
    }
  }
}

/// Performs a request for each input concurrently; returns the results in the same order.
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

extension [SaveRequest] {
  /// The portions to save one after another; each portion is saved concurrently.
  ///
  /// A portion has at most one credential for each host, because its saves have no fixed order.
  package var portionsByAge: [[SaveRequest]] {
    var portions: [[SaveRequest]] = []
    var hosts: Set<String> = []
    for request in self {
      // The names by which a tool looks up its newest credential.
      let credential = request.credential
      let names = [credential.key.service] + [credential.attributes["host"]].compactMap(\.self)
      let isFull = portions.last.map { $0.count == largestPortion } ?? true
      if isFull || names.contains(where: hosts.contains) {
        portions.append([])
        hosts = []
      }
      portions[portions.count - 1].append(request)
      hosts.formUnion(names)
    }
    return portions
  }
}
