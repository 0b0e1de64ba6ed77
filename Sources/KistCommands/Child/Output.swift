internal import CLinux
internal import Glibc
internal import KistCore
internal import KistSystem

/// What a program prints, found along PATH; `nil` where it ends with another status than 0.
func output(of words: [String], upTo limit: Int) throws(StorageError) -> Secret? {
  let end = try run(words, upTo: limit)
  return end.hasSucceeded ? end.output : nil
}

/// The lines that a program prints, found along PATH, however it ends; none where it cannot be run.
///
/// What it says on standard error is not shown.
func linesPrinted(by words: [String]) -> [String] {
  guard let output = try? run(words, upTo: 1 << 20, silencing: true).output else { return [] }
  return output.withBytes(String.init(repairing:)).split(separator: "\n").map(String.init)
}

private func run(
  _ words: [String], upTo limit: Int, silencing: Bool = false
) throws(StorageError) -> (output: Secret, hasSucceeded: Bool) {
  guard let program = absolutePath(of: words[0]) else {
    throw StorageError(
      .unavailable, "\(words[0]) is not there", hint: "install \(words[0])", outcome: .unchanged)
  }
  var ends: [CInt] = [-1, -1]
  guard unsafe pipe(&ends) == 0 else {
    throw StorageError(.unavailable, "no pipe could be opened: \(systemText(of: errno))")
  }
  for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  let pid: pid_t
  do throws(CommandNotStarted) {
    defer { close(ends[1]) }
    pid = try startChild(
      [program] + words.dropFirst(), .unchanged, output: ends[1], silencing: silencing)
  } catch {
    close(ends[0])
    throw error.complaint
  }
  let output: Result<Secret, StorageError>
  do throws(StorageError) {
    output = .success(
      try allPieces(upTo: limit, "the output of \(words[0])") {
        () throws(StorageError) in try nextPiece(of: ends[0], "the output of \(words[0])")
      })
  } catch { output = .failure(error) }
  // Without a reader, a program that has more to say ends rather than waits.
  close(ends[0])
  var status: CInt = 0
  while unsafe waitpid(pid, &status, 0) < 0, errno == EINTR {}
  return (try output.get(), status == 0)
}
