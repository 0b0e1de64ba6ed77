internal import Glibc
package import KistCore
internal import KistSystem

/// Writes a file for this user alone, which is whole and on disk when this returns.
///
/// - Parameter replacing: whether it takes the place of one that is there.
/// - Returns: whether it was written; `false` where there is one that it does not replace.
package func writeWhole(
  _ bytes: Span<UInt8>, to path: String, replacing: Bool
) throws(StorageError) -> Bool {
  let unfinished = "\(path).new-\(UInt64.random(in: .min ... .max))"
  let descriptor = try Descriptor.open(unfinished, O_WRONLY | O_CREAT | O_EXCL)
  defer { unsafe unlink(unfinished) }
  try descriptor.setMode(0o600, path: unfinished)
  try descriptor.write(bytes, path: unfinished)
  try descriptor.flush(path: unfinished)
  if replacing {
    try rename(unfinished, to: path)
    return true
  }
  // Unlike `rename`, `link` fails when the name is taken.
  let isWritten = unsafe link(unfinished, path) == 0
  guard isWritten || errno == EEXIST else { throw .system("making", path: path) }
  // Also that of a file which somebody else has made, who may have been cut off before.
  try flushDirectory(of: path)
  try flushNames(of: directory(of: path))
  return isWritten
}
