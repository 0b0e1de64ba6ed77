internal import Glibc
internal import KistCore
internal import KistSystem

/// Reads what a stream has, at most 64 KiB; nothing at its end.
///
/// - Parameter what: what an error calls it.
func nextPiece(of descriptor: CInt, _ what: String) throws(StorageError) -> Secret {
  var bytes = WipedBytes(capacity: 4 << 10)
  while true {
    let count = bytes.append(upTo: 64 << 10) { free in
      unsafe free.withUnsafeMutableBufferPointer { buffer, initializedCount in
        let count = unsafe read(descriptor, buffer.baseAddress, buffer.count)
        initializedCount = max(count, 0)
        return count
      }
    }
    if count >= 0 { return Secret(bytes) }
    guard errno == EINTR else {
      throw StorageError(
        .badRequest, "\(what) could not be read: \(systemText(of: errno))", outcome: .unchanged)
    }
  }
}

/// Puts pieces together up to the empty one; `limit` is what an error calls its bound.
func allPieces(
  upTo size: Int, _ what: String, limit: Int? = nil,
  _ nextPiece: () throws(StorageError) -> Secret
) throws(StorageError) -> Secret {
  var bytes = WipedBytes(capacity: 256)
  while true {
    let piece = try nextPiece()
    if piece.isEmpty { return Secret(bytes) }
    guard bytes.count + piece.count <= size else { throw .tooLarge(what, limit: limit ?? size) }
    piece.withBytes { bytes.append($0) }
  }
}

/// Writes all of it; an error number, or 0.
func writeAll(_ bytes: Secret, to descriptor: CInt) -> CInt {
  bytes.withBytes { bytes in
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.extracting(written...).withUnsafeBufferPointer { rest in
        unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
      }
      if count >= 0 { written += count } else if errno != EINTR { return errno }
    }
    return 0
  }
}
