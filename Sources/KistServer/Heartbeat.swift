/// Something to do again and again on the loop that serves, which shows that it does not hang.
package struct Heartbeat: Sendable {
  package var interval: Duration
  package var beat: @Sendable () -> Void

  package init(every interval: Duration, beat: @escaping @Sendable () -> Void) {
    self.interval = interval
    self.beat = beat
  }
}
