internal import Glibc

/// The directory that a path lies in.
package func directory(of path: String) -> String {
  guard let slash = path.lastIndex(of: "/") else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}

/// Makes a directory of mode 0700, whatever the umask, and those above it, unless they are there; where it
/// cannot, `errno` says why.
///
/// That they are there does not say that their names are on disk.
package func makeDirectory(_ path: String) -> Bool {
  if isMade(path) { return true }
  guard errno == ENOENT, path.contains("/"), makeDirectory(directory(of: path)) else {
    return false
  }
  // Once: behind a link to nowhere there is no parent, however often it is made.
  return isMade(path)
}

/// Whether there is something at a path, made with mode 0700 if there was not; `errno` says why not.
private func isMade(_ path: String) -> Bool {
  guard unsafe mkdir(path, 0o700) == 0 else { return errno == EEXIST }
  // The umask may have taken rights away.
  return unsafe chmod(path, 0o700) == 0
}
