internal import Glibc

/// Shows a command's progress on one terminal line, which the next update or an error overwrites.
///
/// - Parameter what: the action, such as "copied".
func showProgress(_ what: String, _ done: Int, _ total: Int) {
  guard isatty(STDERR_FILENO) == 1 else { return }
  writeToStandardError("\(what) \(done) of \(total)" + (done == total ? "\n" : "\r"))
}
