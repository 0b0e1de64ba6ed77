internal import Glibc
internal import KistCore
internal import KistSystem

/// The result of reading a file below the home directory that may have secrets.
enum HomeFile: Sendable {
  case missing
  /// The file was not read, for this reason.
  case refused(String)
  /// The beginning of the file, or all of it.
  case text(Secret, isCut: Bool)
}

/// Reads the beginning of a regular file of this user in a directory.
///
/// This function never waits. It opens no FIFO and no device, and enters no other file system,
/// where an automount could wait for a server. It follows only symbolic links that lead to files
/// inside the directory.
func homeFile(_ name: String, in home: String, upTo limit: Int) -> HomeFile {
  guard let home = realPath(home), let top = fileStatus(ofLink: home) else { return .missing }
  var path = home
  var rest = name.split(separator: "/").map(String.init)
  var links = 0
  while !rest.isEmpty {
    let next = rest.removeFirst()
    if next == "." { continue }
    if next == ".." {
      guard path != home else { return .refused("is a link to outside of \(home)") }
      path = directory(of: path)
      continue
    }
    let child = path + "/" + next
    guard let status = fileStatus(ofLink: child) else {
      return [ENOENT, ENOTDIR].contains(errno)
        ? .missing : .refused("cannot be opened: \(systemText(of: errno))")
    }
    if status.isKind(S_IFLNK) {
      links += 1
      guard links <= 8, var target = linkTarget(of: child) else {
        return .refused("is a link that cannot be followed")
      }
      if target.hasPrefix("/") {
        guard target.hasPrefix(home + "/") else {
          return .refused("is a link to outside of \(home)")
        }
        target.removeFirst(home.count)
        path = home
      }
      rest = target.split(separator: "/").map(String.init) + rest
      continue
    }
    guard status.st_dev == top.st_dev else { return .refused("is on another file system") }
    if rest.isEmpty, status.isKind(S_IFDIR) { return .missing }
    path = child
  }
  return beginning(of: path, upTo: limit)
}

private func beginning(of path: String, upTo limit: Int) -> HomeFile {
  let file: CInt
  do throws(UnfitFile) { file = try openRegularFile(path, O_RDONLY | O_NOFOLLOW) } catch {
    return .refused(error.clause)
  }
  defer { close(file) }
  guard let status = fileStatus(of: file), status.st_uid == geteuid() else {
    return .refused("belongs to another user")
  }
  let size = min(Int(status.st_size), limit)
  var bytes = WipedBytes(capacity: size)
  var failure: CInt = 0
  bytes.append(upTo: size) { output in failure = readAll(into: &output, from: file) }
  guard failure == 0 else { return .refused("cannot be read: \(systemText(of: failure))") }
  return .text(Secret(bytes), isCut: Int(status.st_size) > limit)
}

private func linkTarget(of path: String) -> String? {
  var target = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
  let count = unsafe readlink(path, &target, Int(PATH_MAX))
  guard count > 0, count < Int(PATH_MAX) else { return nil }
  return String(validating: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
