extension Provider {
  /// Shows the prompt that unlocks a collection; `nil` if the collection needs no prompt.
  ///
  /// A prompt without an answer in time stays open, and the next caller waits for this prompt.
  /// gnome-keyring 42.1 exits at a `Dismiss` while it shows a dialogue, for this prompt or another.
  func promptToUnlock(_ collection: ObjectPath) async throws(BusError) -> ShownPrompt? {
    guard try await isLocked(collection) else { return nil }
    if let unlocking = service.unlocking, unlocking.isOpen { return unlocking }
    guard let prompt = try await unlock([collection]) else { return nil }
    let shown = try await show(prompt)
    service.unlocking = shown
    return shown
  }

  /// Shows a prompt that a change of an open collection requires, and waits for its end.
  ///
  /// A prompt that is not answered in time is dismissed. Otherwise the user could still accept it,
  /// and the old change would happen after a newer one.
  func answer(_ prompt: ObjectPath) async throws(BusError) {
    let shown = try await show(prompt)
    do throws(BusError) {
      guard try await shown.isAccepted(by: deadline) else { throw .dismissed }
    } catch {
      if error == .timeout {
        // The caller has waited long enough, and does not wait for the answer to `Dismiss`.
        _ = try Provider(service: service, deadline: Deadline(after: .seconds(1)))
          .start(.dismiss, of: prompt)
      }
      throw error
    }
  }

  func show(_ prompt: ObjectPath) async throws(BusError) -> ShownPrompt {
    let shown = ShownPrompt(prompt, of: service.owner, on: service.bus)
    _ = try await ask(.prompt, of: prompt, .string(""))
    return shown
  }
}

/// A prompt that the provider shows; only one caller at a time waits for it.
final class ShownPrompt {
  private let loop: MainLoop
  private var subscriptions: [Registration] = []
  private var completion: Result<Variant, BusError>?
  private var waiting: Pending<Variant>?

  /// Watches for the end of a prompt; call it before the prompt is shown.
  init(_ prompt: ObjectPath, of owner: String, on bus: SessionBus) {
    loop = bus.loop
    subscriptions = [
      bus.subscribe(to: "Completed", Method.promptInterface, of: prompt, from: owner) {
        [weak self] in self?.end(.success($0))
      },
      // The prompt is never completed if its provider or the bus is gone.
      bus.subscribeToOwners(of: owner) { [weak self] _ in self?.end(.failure(.disconnected)) },
      bus.subscribeToClosing { [weak self] in self?.end(.failure(.disconnected)) },
    ]
  }

  var isOpen: Bool { completion == nil }

  /// Waits until the prompt is completed; returns `false` if it was dismissed.
  ///
  /// The result that the prompt reports is not read: the caller checks the state itself.
  func isAccepted(by deadline: Deadline) async throws(BusError) -> Bool {
    let arguments = try await loop.value(by: deadline) { pending, _ in
      if let completion { pending.arrive(completion) } else { waiting = pending }
    }
    guard let dismissed = arguments.children.first, dismissed.isOfType("b") else {
      throw .malformed
    }
    return !dismissed.bool
  }

  private func end(_ completion: Result<Variant, BusError>) {
    self.completion = self.completion ?? completion
    waiting?.arrive(completion)
  }
}
