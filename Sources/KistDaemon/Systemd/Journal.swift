internal import Glibc
internal import KistSystem

/// Returns whether a descriptor leads to the journal (systemd.exec(5), `$JOURNAL_STREAM`).
func isJournal(_ descriptor: CInt, environment: (String) -> String?) -> Bool {
  guard let status = fileStatus(of: descriptor) else { return false }
  return environment("JOURNAL_STREAM") == "\(status.st_dev):\(status.st_ino)"
}
