internal import KistClient
internal import KistCore

/// Becomes another program, found along PATH; returns why not, where it cannot.
func become(_ words: [String]) -> StorageError {
  let failure = replaceProcess(by: words, .unchanged).failure
  return StorageError(
    .unavailable, "\(words[0]) could not be run: \(describe(failure))",
    hint: "install \(words[0]), or see whether it is on PATH")
}
