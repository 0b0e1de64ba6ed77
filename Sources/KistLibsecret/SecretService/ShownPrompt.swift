/// A prompt that the provider shows, until it is completed or the provider is gone.
///
/// Only one caller at a time waits for it.
final class ShownPrompt {
  private let loop: MainLoop
  private var subscriptions: [Subscription] = []
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
      bus.subscribeToEnd(of: owner) { [weak self] in self?.end(.failure(.disconnected)) },
      bus.subscribeToClosing { [weak self] in self?.end(.failure(.disconnected)) },
    ]
  }

  /// Whether the prompt waits for the user.
  var isOpen: Bool { completion == nil }

  /// Waits until the prompt is completed; returns `false` if it was dismissed.
  ///
  /// The result that the prompt reports is not read: the caller checks the state itself.
  func isAccepted(by deadline: Deadline) async throws(BusError) -> Bool {
    let pending = Pending<Variant>()
    if let completion { pending.arrive(completion) } else { waiting = pending }
    let timer = try loop.startTimer(after: deadline.remaining()) {
      pending.arrive(.failure(.timeout))
    }
    defer { extendLifetime(timer) }
    guard let dismissed = try await pending.value().children.first, dismissed.isOfType("b") else {
      throw .malformed
    }
    return !dismissed.bool
  }

  private func end(_ completion: Result<Variant, BusError>) {
    self.completion = self.completion ?? completion
    waiting?.arrive(completion)
  }
}
