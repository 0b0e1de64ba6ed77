internal import Glibc
package import KistCore
internal import KistSystem

/// Writes a file for this user alone; it is complete and on disk when this returns.
///
/// - Parameter replacing: whether to replace an existing file.
/// - Returns: whether the file was written; `false` where it exists and is not replaced.
package func writeWhole(
  _ bytes: Span<UInt8>, to path: String, replacing: Bool
) throws(StorageError) -> Bool {
  let unfinished = "\(path).new-\(UInt64.random(in: .min ... .max))"
  let descriptor = try Descriptor.open(unfinished, O_WRONLY | O_CREAT | O_EXCL)
  defer { unsafe unlink(unfinished) }
  // The lock shows that the file is in use. Before it is taken, another process may remove the file
  // as left over.
  flock(descriptor.number, LOCK_EX)
  if try descriptor.status(path: unfinished).st_nlink == 0 {
    return try writeWhole(bytes, to: path, replacing: replacing)
  }
  try descriptor.setMode(0o600, path: unfinished)
  try descriptor.write(bytes, path: unfinished)
  try descriptor.flush(path: unfinished)
  if replacing {
    try rename(unfinished, to: path)
    return true
  }
  // Unlike `rename`, `link` fails when the name exists.
  let isWritten = unsafe link(unfinished, path) == 0
  guard isWritten || errno == EEXIST else { throw .system("making", path: path) }
  // Before the flush, so that a power cut after it leaves no second name.
  unsafe unlink(unfinished)
  // The file may be of another process that was interrupted before this flush.
  try flushDirectory(of: path)
  try flushNames(of: directory(of: path))
  return isWritten
}

/// Removes the unfinished copies of a file that killed processes left; returns whether all are
/// gone.
@discardableResult
package func removeUnfinished(of path: String) -> Bool {
  siblings(of: path, suffixed: ".new-", by: isNumber).count { unfinished in
    guard let descriptor = try? Descriptor.openOwn(unfinished, O_RDONLY),
      flock(descriptor.number, LOCK_EX | LOCK_NB) == 0
    else { return true }
    return unsafe unlink(unfinished) != 0
  } == 0
}

private func isNumber(_ word: Substring) -> Bool { UInt64(word).map { "\($0)" == word } ?? false }

/// Returns the paths beside a file whose names add a suffix and a text that the filter accepts.
///
/// They are relative where that path is.
func siblings(
  of path: String, suffixed suffix: String, by isOne: (Substring) -> Bool
) -> [String] {
  let prefix = path + suffix
  // Uses the prefix of the given path, so that paths can be compared.
  let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
  return names(in: directory(of: path)).map { folder + $0 }.filter { name in
    name.hasPrefix(prefix) && isOne(name.dropFirst(prefix.count))
  }
}
