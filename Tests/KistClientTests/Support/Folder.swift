import Glibc
import Testing

/// A folder of its own below /tmp, with a path that is short enough for a socket; gone afterwards.
func withFolder<Result>(
  _ body: nonisolated(nonsending) (String) async throws -> Result
) async throws -> Result {
  var template = Array("/tmp/kist-XXXXXX".utf8CString)
  let made = unsafe template.withUnsafeMutableBufferPointer { buffer in
    unsafe mkdtemp(buffer.baseAddress!) != nil
  }
  try #require(made)
  let folder = unsafe template.withUnsafeBufferPointer { unsafe String(cString: $0.baseAddress!) }
  defer {
    unsafe unlink(folder + "/s")
    unsafe rmdir(folder)
  }
  return try await body(folder)
}
