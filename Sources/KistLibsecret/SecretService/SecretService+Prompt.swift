/// Requests about a prompt.
extension SecretService {
  /// Shows the prompt that unlocks a collection; `nil` if it needs none, or is open.
  ///
  /// A prompt without an answer in time stays open, and the next caller waits for the same one.
  /// gnome-keyring 42.1 exits at a `Dismiss` while it shows a dialogue, for this prompt or another.
  func promptToUnlock(
    _ collection: ObjectPath, by deadline: Deadline
  ) async throws(BusError) -> ShownPrompt? {
    guard try await isLocked(collection, by: deadline) else { return nil }
    if let unlocking, unlocking.isOpen { return unlocking }
    guard let prompt = try await unlock([collection], by: deadline) else { return nil }
    let shown = try await show(prompt, by: deadline)
    unlocking = shown
    return shown
  }

  /// Shows a prompt that a change of an open collection requires, and waits for its end.
  ///
  /// A prompt without an answer in time is dismissed, so that its change does not follow a later
  /// one.
  func answer(_ prompt: ObjectPath, by deadline: Deadline) async throws(BusError) {
    let shown = try await show(prompt, by: deadline)
    do throws(BusError) {
      guard try await shown.isAccepted(by: deadline) else { throw .dismissed }
    } catch {
      if error == .timeout {
        // The caller has waited long enough, and does not wait for this answer.
        _ = try start(.dismiss, of: prompt, nil, by: Deadline(after: .seconds(1)))
      }
      throw error
    }
  }

  func show(
    _ prompt: ObjectPath, by deadline: Deadline
  ) async throws(BusError) -> ShownPrompt {
    let shown = ShownPrompt(prompt, of: owner, on: bus)
    _ = try await ask(.prompt, of: prompt, .tuple(.string("")), by: deadline)
    return shown
  }
}

extension Variant {
  /// The path of a prompt, if there is one.
  var prompt: ObjectPath? { objectPath == .none ? nil : objectPath }
}
