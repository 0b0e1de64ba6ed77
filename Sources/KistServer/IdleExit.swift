internal import NIOCore

/// The conditions under which an idle server stops by itself.
package struct IdleExit: Sendable {
  /// How long no client may be connected before the server stops.
  package var after: Duration
  /// Decides at that time whether to stop; if `false`, it is called again after the same time.
  package var isAllowed: @Sendable () async -> Bool
  /// Called when nothing can prevent the stop any more.
  package var whenStopping: @Sendable () -> Void

  package init(
    after: Duration, isAllowed: @escaping @Sendable () async -> Bool,
    whenStopping: @escaping @Sendable () -> Void = {}
  ) {
    self.after = after
    self.isAllowed = isAllowed
    self.whenStopping = whenStopping
  }
}

extension IdleExit {
  /// Waits until no client has been connected for `after`; returns `false` if the task is
  /// cancelled.
  ///
  /// Runs on the event loop that admits connections, so there is still none when it returns.
  func isDue(_ admission: Admission) async -> Bool {
    var due = NIODeadline.now() + TimeAmount(after)
    while (try? await Task.sleep(for: Duration(due - .now()))) != nil {
      let since = admission.emptySince
      due = (since ?? .now()) + TimeAmount(after)
      guard due <= .now() else { continue }
      if await isAllowed(), admission.emptySince == since { return true }
      due = .now() + TimeAmount(after)
    }
    return false
  }
}
