internal import Glibc

/// Returns the directory that contains a path.
package func directory(of path: String) -> String {
  guard let slash = path.lastIndex(of: "/") else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}

/// Returns the names in a directory, unordered; empty if it cannot be read.
package func names(in directory: String) -> [String] {
  guard let entries = unsafe opendir(directory) else { return [] }
  defer { unsafe closedir(entries) }
  var names: [String] = []
  while let entry = unsafe readdir(entries) {
    let start = unsafe UnsafeRawPointer(entry.pointer(to: \.d_name)!)
    let name = unsafe String(validatingCString: start.assumingMemoryBound(to: CChar.self))
    if let name, ![".", ".."].contains(name) { names.append(name) }
  }
  return names
}

/// Creates a missing directory and its missing parents with mode 0700, regardless of the umask.
///
/// On failure, `errno` says why. It does not flush the new directory entries to the disk.
package func makeDirectory(_ path: String) -> Bool {
  // Calls mkdir at most twice for each path. If a parent is a link to a missing directory, mkdir fails
  // with ENOENT each time, so a loop would not end.
  makeOneDirectory(path)
    || errno == ENOENT && path.contains("/") && makeDirectory(directory(of: path))
      && makeOneDirectory(path)
}

/// Creates a directory with mode 0700 unless the path exists.
private func makeOneDirectory(_ path: String) -> Bool {
  guard unsafe mkdir(path, 0o700) == 0 else { return errno == EEXIST }
  // The umask may have removed permissions.
  return unsafe chmod(path, 0o700) == 0
}

/// Throws if this user cannot create files in a directory; changes nothing.
///
/// If the directory is missing, checks the nearest existing directory above it.
package func checkWritable(directory path: String) throws(UnfitFile) {
  let folder = nearestExisting(path)
  guard let status = fileStatus(of: folder) else { throw .notOpened(errno) }
  guard status.isKind(S_IFDIR) else { throw .notOpened(ENOTDIR) }
  guard unsafe access(folder, W_OK | X_OK) == 0 else { throw .notOpened(errno) }
}

/// Returns the path of a file that prevents the creation of a directory; `nil` if there is none.
///
/// Such a file has the path of the directory, or of a parent of it, and is not a directory.
package func fileBlocking(directory: String) -> String? {
  let path = nearestExisting(directory)
  guard let status = fileStatus(of: path), !status.isKind(S_IFDIR) else { return nil }
  return path
}

/// Returns the path or, if nothing is there, the nearest path above it that exists.
package func nearestExisting(_ path: String) -> String {
  var path = path
  while fileStatus(of: path) == nil, [ENOENT, ENOTDIR].contains(errno), path != directory(of: path)
  {
    path = directory(of: path)
  }
  return path
}

/// Returns advice for the user if a path is in an XDG_RUNTIME_DIR that does not exist; otherwise
/// `nil`.
package func remedy(
  forMissingRuntimeDirectoryOf path: String, environment: (String) -> String?
) -> String? {
  guard let directory = environment("XDG_RUNTIME_DIR"), directory.hasPrefix("/"),
    path.hasPrefix(directory + "/"), fileStatus(of: directory) == nil, errno == ENOENT
  else { return nil }
  return
    "XDG_RUNTIME_DIR names \(directory), which does not exist: log in again, or do without it: "
    + "`unset XDG_RUNTIME_DIR`"
}

/// Creates a directory with mode 0700, whose path is the prefix and six random characters.
///
/// Returns `nil` on failure, and `errno` says why.
package func makeTemporaryDirectory(_ prefix: String) -> String? {
  var name = Array((prefix + "XXXXXX").utf8CString)
  return unsafe name.withUnsafeMutableBufferPointer { name in
    unsafe mkdtemp(name.baseAddress!).map { unsafe String(cString: $0) }
  }
}

/// Returns a path without symbolic links; `nil` on failure, and `errno` says why.
package func realPath(_ path: String) -> String? {
  guard let real = unsafe realpath(path, nil) else { return nil }
  defer { unsafe free(real) }
  return unsafe String(cString: real)
}
