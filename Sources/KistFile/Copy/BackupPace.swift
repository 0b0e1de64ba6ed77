/// How long backups are waited for and kept.
package struct BackupPace: Sendable {
  /// How long a request waits for one that is being made.
  package var wait: Duration
  /// How long one for which nobody asks is made or kept.
  package var patience: Duration

  package init(wait: Duration = .seconds(5), patience: Duration = .seconds(30)) {
    self.wait = wait
    self.patience = patience
  }
}
