internal import NIOCore

/// When a server stops by itself.
package struct IdleExit: Sendable {
  /// How long nobody has been connected by then.
  package var after: Duration
  /// Asked at that time; where it is `false`, asked again when as much time has gone by.
  package var isAllowed: @Sendable () async -> Bool
  /// Told when nothing calls it off any more.
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
  /// Waits until nobody has been in for so long; `false` when the task is cancelled.
  ///
  /// On the loop that admits: there is still nobody in when this returns.
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
