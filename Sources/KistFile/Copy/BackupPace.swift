/// The times for which backups are waited for and kept.
package struct BackupPace: Sendable {
  /// How long a request waits for a running backup.
  package var wait: Duration
  /// How long a backup continues or is kept without a request for it.
  package var patience: Duration

  package init(wait: Duration = .seconds(5), patience: Duration = .seconds(30)) {
    self.wait = wait
    self.patience = patience
  }
}
