import KistCore
import KistWire

extension Line {
  init(_ text: String) { self.init(Secret(utf8: text)) }

  var text: String { content.text }
}

extension Secret {
  var bytes: [UInt8] { withBytes { span in span.indices.map { span[$0] } } }
  var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// What a function throws; `nil` if it does not.
func error<Value>(_ run: () async throws(StorageError) -> Value) async -> StorageError? {
  do throws(StorageError) { _ = try await run() } catch { return error }
  return nil
}
