import KistCluster

extension RecordID {
  /// Sixteen bytes of which the first and the last are given, and the others zero.
  init(_ first: UInt8, _ last: UInt8 = 0) {
    let bytes = [first] + [UInt8](repeating: 0, count: 14) + [last]
    self = RecordID(bytes)!
  }
}

extension Commit {
  /// A change of generation 1: replaces its head, and writes a log entry and perhaps other records.
  static func change(
    _ sequence: UInt64, after head: [UInt8]?, head new: [UInt8]? = nil,
    puts: [RecordName: [UInt8]] = [:], deletes: Set<RecordName> = []
  ) -> Commit {
    let new = new ?? bytes(sequence)
    let records: [RecordName: [UInt8]] = [
      .head(generation: 1): new, .logEntry(generation: 1, sequence: sequence): new,
    ]
    return Commit(
      expected: ExpectedHead(generation: 1, bytes: head),
      puts: puts.merging(records) { _, record in record }, deletes: deletes)
  }
}

/// The sequence as the bytes of a head.
func bytes(_ sequence: UInt64) -> [UInt8] { Array("head \(sequence)".utf8) }

func row(_ first: UInt8, _ last: UInt8 = 0, generation: UInt32 = 1) -> RecordName {
  .row(generation: generation, key: RecordID(first, last))
}

extension ClusterChanges {
  /// Takes some events.
  func take(_ count: Int) async throws -> [ClusterEvent] {
    let iterator = makeAsyncIterator()
    var events: [ClusterEvent] = []
    while events.count < count, let event = try await iterator.next() { events.append(event) }
    return events
  }
}

extension ClusterEvent {
  /// The commit that the event reports.
  var writes: CommittedWrites? { if case .commit(let writes) = self { writes } else { nil } }
}

/// A door that opens once, and lets everybody through from then on.
struct Gate {
  private let stream: AsyncStream<Never>
  let open: @Sendable () -> Void

  init() {
    let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
    self.stream = stream
    open = { continuation.finish() }
  }

  func wait() async { for await _ in stream {} }
}
