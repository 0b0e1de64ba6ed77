internal import Glibc
internal import KistClient
internal import KistCore
internal import KistInterop

/// The most bytes of an entry: 1 MiB.
private let longestEntry = 1 << 20

/// Reads the folder of `pass` or gopass, with gpg(1): only paths are its arguments, and what it
/// decrypts comes through a pipe.
///
/// Where the very first entry cannot be decrypted, it is the key that is missing; a later one is left
/// out, since a store may have entries for others.
func readPassStore(_ folder: String, _ terminal: Terminal) throws(StorageError)
  -> ForeignCredentials
{
  let names = try passEntries(below: folder)
  var store = ForeignCredentials(countedBy: "entry")
  var progress = ProgressBar("decrypting", on: terminal)
  for (index, name) in names.enumerated() {
    progress.show(index, of: names.count)
    let words = ["gpg", "--quiet", "--batch", "--decrypt", "--", "\(folder)/\(name).gpg"]
    if let content = try output(of: words, upTo: longestEntry) {
      try store.addPassEntry(name, content, at: index + 1)
    } else if index == 0 {
      throw StorageError(
        .denied, "gpg does not decrypt the first entry",
        hint: "nothing was imported; see what `pass show` says", outcome: .unchanged)
    } else {
      store.leaveOut(.unreadable, at: index + 1)
    }
  }
  progress.clear()
  return store
}

/// The paths of the entries, without `.gpg`, in their order; folders whose name begins with a full
/// stop, such as git's, have none.
private func passEntries(below folder: String) throws(StorageError) -> [String] {
  var names: [String] = []
  try addEntries(of: folder, "", depth: 0, to: &names)
  guard !names.isEmpty else {
    throw StorageError(
      .badRequest, "there are no entries of pass in the folder",
      hint: "name the folder: ~/.password-store, or that of gopass", outcome: .unchanged)
  }
  return names.sorted()
}

private func addEntries(
  of folder: String, _ path: String, depth: Int, to names: inout [String]
) throws(StorageError) {
  guard let entries = unsafe opendir("\(folder)/\(path)") else {
    throw StorageError(
      .badRequest, "the folder cannot be opened: \(describe(errno))", outcome: .unchanged)
  }
  defer { unsafe closedir(entries) }
  while let entry = unsafe readdir(entries) {
    guard
      let name = unsafe withUnsafePointer(
        to: &entry.pointee.d_name,
        {
          unsafe String(validatingCString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
        }
      ), !name.hasPrefix(".")
    else { continue }
    var status = stat()
    guard unsafe lstat("\(folder)/\(path)\(name)", &status) == 0 else { continue }
    if status.st_mode & S_IFMT == S_IFDIR, depth < 32 {
      try addEntries(of: folder, "\(path)\(name)/", depth: depth + 1, to: &names)
    } else if name.hasSuffix(".gpg"), names.count < ForeignCredentials.most {
      names.append(path + name.dropLast(4))
    }
  }
}
