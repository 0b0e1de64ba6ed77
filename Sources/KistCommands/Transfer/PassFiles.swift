internal import Glibc
internal import KistClient
internal import KistCore
internal import KistInterop

/// A file of a `pass` store, or something else at the place of one.
struct PassFile {
  /// Its path in the store, without `.gpg`.
  var name: String
  /// The reason for leaving it out.
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
  var status = stat()
  guard unsafe lstat(path, &status) == 0 else {
    if errno == ENOENT { return .file }
    throw .notOpened("the folder", errno)
  }
  if status.st_mode & S_IFMT == S_IFDIR { return .folder }
  guard status.st_mode & S_IFMT == S_IFLNK, unsafe stat(path, &status) == 0 else { return .file }
  return status.st_mode & S_IFMT == S_IFDIR ? .linkedFolder : .file
}
