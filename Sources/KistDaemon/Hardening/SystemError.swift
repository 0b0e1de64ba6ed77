internal import Glibc
internal import KistCore
internal import KistFile
internal import KistSystem

/// Opens a small file of kistd (`KistSystem.openOwnFile`); the hint is for an error of the system.
func openOwnFile(_ path: String, _ flags: CInt, hint: String) throws(StorageError) -> CInt {
  do throws(UnfitFile) { return try openOwnFile(path, flags) } catch {
    throw .unfit(error, path, hint: hint)
  }
}

/// Opens a small file of kistd; `nil` if there is none.
func openIfPresent(_ path: String, _ flags: CInt, hint: String) throws(StorageError) -> CInt? {
  do throws(UnfitFile) { return try openOwnFile(path, flags) } catch {
    if error.isMissing { return nil }
    throw .unfit(error, path, hint: hint)
  }
}

/// Returns whether the path is a directory of this user, and not a link.
func isOurDirectory(_ path: String) -> Bool {
  fileStatus(ofLink: path).map { $0.isKind(S_IFDIR) && $0.st_uid == geteuid() } ?? false
}

func isFile(_ path: String) -> Bool { fileStatus(of: path)?.isKind(S_IFREG) ?? false }

func isSocket(_ path: String) -> Bool { fileStatus(of: path)?.isKind(S_IFSOCK) ?? false }

/// Makes a directory of mode 0700 and its missing parent directories.
func makeDirectory(_ path: String, hint: String) throws(StorageError) {
  guard makeDirectory(path) else { throw .failed("make the directory", path, hint: hint) }
}

extension StorageError {
  static func failed(
    _ action: String, _ path: String, hint: String, errno number: CInt = errno
  ) -> StorageError {
    let code = Code(errno: number)
    return StorageError(
      code, "cannot \(action) \(path): \(systemText(of: number))",
      hint: code == .full ? "free some space and try again" : hint)
  }

  /// Returns the error for a small file that kistd refuses; the hint is for an error of the system.
  static func unfit(_ file: UnfitFile, _ path: String, hint: String) -> StorageError {
    if case .notOpened(let number) = file {
      return .failed(
        "open", path, hint: number == EACCES ? file.remedy(for: path) : hint, errno: number)
    }
    return StorageError(.denied, "\(path) \(file.clause)", hint: file.remedy(for: path))
  }
}
