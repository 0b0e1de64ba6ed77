extension InterruptedChange {
  /// Interrupts the change before and after each of its calls, among items of other programs.
  ///
  /// Returns the broken promises, one sentence each.
  ///
  /// - Parameters:
  ///   - access: opens the storage to interrupt, and another one to read with.
  ///   - interlude: the action between the crash and the reading.
  package func faults(
    on bus: PrivateBus, by access: KeyringAccess, interlude: () async throws -> Void = {}
  ) async throws -> [String] {
    let neighbours = try await Neighbours(on: bus)
    let whole = try await Interruption(of: self, at: nil, on: bus, by: access)
    var faults = whole.faults
    if !whole.calls.contains(member) { faults.append("\(self): \(member) is not among its calls") }
    for call in whole.calls.indices.map({ $0 + 1 }) {
      for moment in [BusProxy.Moment.before(call: call), .after(call: call)] {
        faults += try await Interruption(
          of: self, at: moment, on: bus, by: access, interlude: interlude
        ).faults
      }
    }
    if try await !neighbours.areUntouched() { faults.append("\(self): items of others changed") }
    return faults
  }
}
