import KistClient
import KistWire
import Synchronization

extension Line {
  init(_ text: String) { self.init(Secret(utf8: text)) }

  var text: String {
    content.withBytes { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
  }
}

/// What a peer received, seen from the test.
final class Log: Sendable {
  private let entries = Mutex<[String]>([])

  var lines: [String] { entries.withLock { $0 } }

  func append(_ line: String?) { entries.withLock { $0.append(line ?? "(end)") } }
}

/// The error of a request, or `nil` when it had none.
func failure(of request: () async throws(StorageError) -> Line) async -> StorageError? {
  do throws(StorageError) {
    _ = try await request()
    return nil
  } catch { return error }
}
