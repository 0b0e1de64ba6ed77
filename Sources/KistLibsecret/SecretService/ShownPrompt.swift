/// A prompt that the provider shows, until it is completed or the provider is gone; waited for by one
/// at a time, and by another after that.
final class ShownPrompt {
  private let loop: MainLoop
  private var subscriptions: [Subscription] = []
  private var completion: Result<Variant, BusError>?
  private var waiting: Pending<Variant>?

  /// Hears of the end of a prompt, from before it is shown.
  init(_ prompt: ObjectPath, of owner: String, on bus: SessionBus) {
    loop = bus.loop
    subscriptions = [
      bus.subscribe(to: "Completed", Method.promptInterface, of: prompt, from: owner) {
        [weak self] in self?.end(.success($0))
      },
      // A provider that is gone completes nothing, nor does one on a bus that is.
      bus.subscribeToEnd(of: owner) { [weak self] in self?.end(.failure(.disconnected)) },
      bus.subscribeToClosing { [weak self] in self?.end(.failure(.disconnected)) },
    ]
  }

  /// Whether it waits for a person.
  var isOpen: Bool { completion == nil }

  /// Waits until the prompt is completed; false when it was dismissed.
  ///
  /// What it says was its result is not read: whoever asked looks for himself.
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
