internal import Glibc

/// Whether two paths lead to the same existing file.
func isSameFile(_ path: String, _ other: String) -> Bool {
  var (status, otherStatus) = (stat(), stat())
  return unsafe stat(path, &status) == 0 && stat(other, &otherStatus) == 0
    && status.st_dev == otherStatus.st_dev && status.st_ino == otherStatus.st_ino
}
