internal import Glibc
internal import KistClient
internal import KistCore
internal import KistInterop
internal import KistSystem

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

/// A file of a `pass` store, or something else at the place of one.
struct PassFile {
  /// Its path in the store, without `.gpg`.
  var name: String
  var problem: LeftOut?
}

/// Returns the entries of a `pass` store sorted by name, with those to leave out.
///
/// Skips the directories of git.
func passFiles(below folder: String) throws(StorageError) -> [PassFile] {
  var files: [PassFile] = []
  try addFiles(of: folder, "", depth: 0, to: &files)
  guard !files.isEmpty else {
    throw StorageError(
      .badRequest, "there are no entries of pass in \(folder)",
      hint: "name the folder that has some: `kist import pass FOLDER`", outcome: .unchanged)
  }
  return files.sorted { $0.name < $1.name }
}

private func addFiles(
  of folder: String, _ path: String, depth: Int, to files: inout [PassFile]
) throws(StorageError) {
  guard let entries = unsafe opendir("\(folder)/\(path)") else {
    throw .notOpened("the folder", errno)
  }
  defer { unsafe closedir(entries) }
  while let entry = unsafe readdir(entries) {
    let bytes = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
      unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { name in
        unsafe (text: String(validatingCString: name), repaired: String(cString: name))
      }
    }
    guard let name = bytes.text else {
      files.append(PassFile(name: path + bytes.repaired, problem: .unreadableName))
      continue
    }
    if [".", "..", ".git"].contains(name) { continue }
    var file = PassFile(name: path + name)
    switch try kind(of: "\(folder)/\(path)\(name)") {
    case .folder where depth < 32:
      try addFiles(of: folder, "\(path)\(name)/", depth: depth + 1, to: &files)
      continue
    case .folder: file.problem = .deepFolder
    case .linkedFolder: file.problem = .linkedFolder
    case .file:
      guard name.hasSuffix(".gpg") else { continue }
      file.name.removeLast(4)
    }
    files.append(file)
    guard files.count <= ForeignCredentials.most else { throw .tooManyForeign }
  }
}

private enum FileKind {
  case file
  case folder
  case linkedFolder
}

/// Returns the kind of file at a path; a removed one counts as a file.
private func kind(of path: String) throws(StorageError) -> FileKind {
  guard let status = fileStatus(ofLink: path) else {
    if errno == ENOENT { return .file }
    throw .notOpened("the folder", errno)
  }
  if status.isKind(S_IFDIR) { return .folder }
  return status.isKind(S_IFLNK) && fileStatus(of: path)?.isKind(S_IFDIR) == true
    ? .linkedFolder : .file
}
