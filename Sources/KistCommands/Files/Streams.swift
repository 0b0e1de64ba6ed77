internal import Glibc
internal import KistCore
internal import KistSystem

/// Reads the available bytes of a stream, at most 64 KiB; returns none at its end.
///
/// - Parameter what: The name of the stream in errors.
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

/// Joins pieces up to the empty one; `limit` is the limit that an error mentions.
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

/// Writes all bytes; returns an error number, or 0.
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
