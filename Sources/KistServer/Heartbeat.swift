/// A periodic action on the serving event loop that shows that the loop does not hang.
package struct Heartbeat: Sendable {
  package var interval: Duration
  package var beat: @Sendable () -> Void

  package init(every interval: Duration, beat: @escaping @Sendable () -> Void) {
    self.interval = interval
    self.beat = beat
  }
}
