internal import Glibc

/// How far a command of kistd's is: one line that is written again and again, where a person looks on;
/// an error, too, takes its place.
///
/// - Parameter what: what was done to each.
func showProgress(_ what: String, _ done: Int, _ total: Int) {
  guard isatty(STDERR_FILENO) == 1 else { return }
  writeToStandardError("\(what) \(done) of \(total)" + (done == total ? "\n" : "\r"))
}
