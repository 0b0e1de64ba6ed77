internal import Glibc

/// What the system says of an error number (strerror(3)).
func text(of code: CInt) -> String {
  unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
}
