/// A prompt.
extension SecretService {
  /// Shows the prompt that unlocks a collection; `nil` where it opens without one, or is open.
  ///
  /// One that nobody answered in time stays: gnome-keyring 42.1 ends at a `Dismiss` while a dialogue of
  /// its is up, for this prompt or another. Whoever asks again waits for the same one.
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

  /// Shows a prompt that stands between an open collection and a change of it, and waits for its end.
  ///
  /// One that nobody answers in time is taken back, so that the change is not made behind the next one.
  func answer(_ prompt: ObjectPath, by deadline: Deadline) async throws(BusError) {
    let shown = try await show(prompt, by: deadline)
    do throws(BusError) {
      guard try await shown.isAccepted(by: deadline) else { throw .dismissed }
    } catch {
      if error == .timeout {
        // Whoever asked has waited long enough, and does not wait for an answer to this.
        _ = try start(.dismiss, of: prompt, nil, by: Deadline(after: .seconds(1)))
      }
      throw error
    }
  }

  /// Shows a prompt.
  func show(
    _ prompt: ObjectPath, by deadline: Deadline
  ) async throws(BusError) -> ShownPrompt {
    let shown = ShownPrompt(prompt, of: owner, on: bus)
    _ = try await ask(.prompt, of: prompt, .tuple(.string("")), by: deadline)
    return shown
  }
}

extension Variant {
  /// The path of a prompt, where there is one.
  var prompt: ObjectPath? { objectPath == .none ? nil : objectPath }
}
