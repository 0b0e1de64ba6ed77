internal import Glibc
internal import KistCore
internal import KistSystem

/// Keeps descriptors 0, 1 and 2 in use, so that none of kistd's files takes a standard number.
enum StandardDescriptors {
  /// Opens /dev/null for each closed standard descriptor; a started command does not inherit these.
  static func reserve() throws(StorageError) {
    var descriptor = try openNull()
    while descriptor <= STDERR_FILENO { descriptor = try openNull() }
    Glibc.close(descriptor)
  }

  /// Closes a descriptor; a standard one becomes /dev/null.
  static func close(_ descriptor: CInt) {
    guard descriptor <= STDERR_FILENO, let null = try? openNull() else {
      Glibc.close(descriptor)
      return
    }
    dup2(null, descriptor)
    Glibc.close(null)
  }

  private static func openNull() throws(StorageError) -> CInt {
    let descriptor = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw .internal("cannot open /dev/null: \(systemText(of: errno))")
    }
    return descriptor
  }
}
