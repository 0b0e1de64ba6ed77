import Glibc

/// How many entries a folder has.
func entries(of folder: String) -> Int {
  guard let stream = unsafe opendir(folder) else { return -1 }
  defer { unsafe closedir(stream) }
  var count = 0
  while unsafe readdir(stream) != nil { count += 1 }
  return count
}
