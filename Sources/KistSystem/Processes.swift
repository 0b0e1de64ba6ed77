internal import Glibc

/// Returns the system's text for an error number, with strerror_r(3).
package func systemText(of code: CInt) -> String {
  unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
    unsafe strerror_r(code, text.baseAddress!, text.count)
    return unsafe String(cString: text.baseAddress!)
  }
}

/// Returns whether an error number means that there is no space on the disk.
package func isFull(_ code: CInt) -> Bool { [ENOSPC, EDQUOT].contains(code) }

/// Returns the value of a variable in this process's environment.
package func environmentVariable(_ name: String) -> String? {
  unsafe getenv(name).map { unsafe String(cString: $0) }
}

/// Calls the body with the strings as a C array of pointers that ends with a null pointer.
package func withCStrings<Result>(
  _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  var pointers = unsafe strings.map { unsafe strdup($0) } + [nil]
  defer { unsafe pointers.forEach { unsafe free($0) } }
  return unsafe body(&pointers)
}

/// Calls the body with this process's environment, byte for byte, as exec(3) expects it.
///
/// - Parameters:
///   - added: The entries to add, `NAME=value`; each replaces one of the same name.
///   - starts: The beginnings of the entries to keep, such as `HOME=`; `nil` keeps all entries.
package func withEnvironment<Result>(
  adding added: [UnsafeMutablePointer<CChar>], keeping starts: [String]? = nil,
  _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  var entries: [UnsafeMutablePointer<CChar>?] = unsafe []
  var next = unsafe environ
  while let entry = unsafe next.pointee {
    let isReplaced = unsafe added.contains { added in
      unsafe strncmp(entry, added, strcspn(added, "=") + 1) == 0
    }
    let isKept = starts?.contains { unsafe strncmp(entry, $0, $0.utf8.count) == 0 } ?? true
    if isKept, !isReplaced { unsafe entries.append(entry) }
    unsafe next += 1
  }
  unsafe entries += added
  unsafe entries.append(nil)
  return unsafe body(entries)
}

/// A thread that runs one function to its end: pthreads(7).
package struct Thread: Sendable {
  private let handle: pthread_t

  /// Starts the thread; `nil` on failure, and `errno` says why.
  package init?(_ body: @escaping @Sendable () -> Void) {
    final class Work {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let work = unsafe Unmanaged.passRetained(Work(body))
    var handle = pthread_t()
    let status = unsafe pthread_create(
      &handle, nil,
      { work in
        unsafe Unmanaged<Work>.fromOpaque(work!).takeRetainedValue().body()
        return nil
      }, work.toOpaque())
    guard status == 0 else {
      unsafe work.release()
      errno = status
      return nil
    }
    self.handle = handle
  }

  /// Waits until the thread ends.
  ///
  /// Call either this or `detach`, once.
  package func join() { pthread_join(handle, nil) }

  /// Whether the caller runs on this thread.
  package var isCurrent: Bool { pthread_equal(handle, pthread_self()) != 0 }

  /// Lets the system release the thread when it ends.
  package func detach() { pthread_detach(handle) }
}

/// Runs a blocking body on a separate thread, because Swift's task pool has few threads.
package func startThread(_ body: @escaping @Sendable () -> Void) {
  guard let thread = Thread(body) else { preconditionFailure("the system gives no more threads") }
  thread.detach()
}

/// Returns a word quoted for the shell, for commands that the user may paste.
///
/// A word that needs no quotes stays the same. The function compares Unicode scalars: a quote and a
/// combining mark after it are one `Character`, but two characters for the shell.
package func shellQuoted(_ word: String) -> String {
  let isPlain = word.unicodeScalars.allSatisfy { scalar in
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "/", ".", "_", "-", ":", "@", "+": true
    default: false
    }
  }
  // Without quotes, the shell drops an empty word.
  return isPlain && !word.isEmpty
    ? word
    : "'"
      + word.unicodeScalars.map { $0 == "'" ? #"'\''"# : String($0) }.joined() + "'"
}
