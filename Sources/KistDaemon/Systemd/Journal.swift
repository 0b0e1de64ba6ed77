internal import Glibc

/// Returns whether a descriptor leads to the journal (systemd.exec(5), `$JOURNAL_STREAM`).
func isJournal(_ descriptor: CInt, environment: (String) -> String?) -> Bool {
  var status = stat()
  guard unsafe fstat(descriptor, &status) == 0 else { return false }
  return environment("JOURNAL_STREAM") == "\(status.st_dev):\(status.st_ino)"
}
