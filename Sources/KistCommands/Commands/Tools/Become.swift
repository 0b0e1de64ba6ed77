internal import Glibc
internal import KistClient
internal import KistCore

/// Becomes another program, found along PATH: exec(3); returns why not, where it cannot.
func become(_ words: [String]) -> StorageError {
  var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
  _ = unsafe execvp(words[0], &arguments)
  return StorageError(
    .unavailable, "\(words[0]) could not be run: \(describe(errno))",
    hint: "install \(words[0]), or see whether it is on PATH")
}
