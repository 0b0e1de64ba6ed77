internal import Glibc

/// Returns the system's text for an error number, with strerror_r(3).
package func systemText(of code: CInt) -> String {
  unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
    unsafe strerror_r(code, text.baseAddress!, text.count)
    return unsafe String(cString: text.baseAddress!)
  }
}
