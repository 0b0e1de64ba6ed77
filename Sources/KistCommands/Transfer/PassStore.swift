internal import Glibc
internal import KistClient
internal import KistCore
internal import KistInterop

/// The maximum size of an entry: 1 MiB.
private let longestEntry = 1 << 20

/// Reads the directory of `pass` or gopass with gpg(1).
///
/// gpg gets only paths as arguments, and its decrypted output comes through a pipe.
///
/// If the very first entry cannot be decrypted, the key is missing. A later one is left out,
/// because a store may have entries for other users. An entry longer than 1 MiB is left out too.
func readPassStore(_ folder: String, _ terminal: Terminal) throws(StorageError)
  -> ForeignCredentials
{
  let files = try passFiles(below: folder)
  var store = ForeignCredentials(countedBy: "entry", named: files.map(\.name))
  var progress = ProgressBar("decrypting", on: terminal)
  var isFirst = true
  for (index, file) in files.enumerated() {
    progress.show(index, of: files.count)
    if let problem = file.problem {
      store.leaveOut(problem, at: index + 1)
      continue
    }
    switch try decrypted("\(folder)/\(file.name).gpg") {
    case .content(let content): try store.addPassEntry(file.name, content, at: index + 1)
    case .tooLarge: store.leaveOut(.overLimits, at: index + 1)
    case .failed where isFirst:
      throw StorageError(
        .denied, "gpg does not decrypt the first entry",
        hint: "nothing was imported; see what `pass show` says", outcome: .unchanged)
    case .failed: store.leaveOut(.unreadable, at: index + 1)
    }
    isFirst = false
  }
  progress.clear()
  return store
}

private enum Decrypted {
  case content(Secret)
  case tooLarge
  case failed
}

private func decrypted(_ path: String) throws(StorageError) -> Decrypted {
  let words = ["gpg", "--quiet", "--batch", "--decrypt", "--", path]
  do throws(StorageError) {
    let end = try output(of: words, upTo: longestEntry)
    return end.status == 0 ? .content(end.output) : .failed
  } catch {
    guard error.code == .tooLarge else { throw error }
    return .tooLarge
  }
}
