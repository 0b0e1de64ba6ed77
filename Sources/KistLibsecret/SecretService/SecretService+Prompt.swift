/// A prompt.
extension SecretService {
  /// Shows a prompt and waits until it is completed; false when it was dismissed.
  ///
  /// What it says was its result is not read: whoever asked looks for himself.
  func show(_ prompt: ObjectPath, by deadline: Deadline) async throws(BusError) -> Bool {
    let completed = PendingSignal()
    let subscription = bus.subscribe(
      to: "Completed", Method.promptInterface, of: prompt, from: owner
    ) { completed.arrive(.success($0)) }
    // A provider that is gone completes nothing.
    let end = bus.subscribeToEnd(of: owner) { completed.arrive(.failure(.disconnected)) }
    let timer = try bus.loop.startTimer(after: deadline.remaining()) {
      completed.arrive(.failure(.timeout))
    }
    defer { extendLifetime((subscription, end, timer)) }
    _ = try await ask(.prompt, of: prompt, .tuple(.string("")), by: deadline)
    let arguments: Variant
    do throws(BusError) { arguments = try await completed.value() } catch {
      if error == .timeout { try? await dismiss(prompt, by: Deadline(after: .seconds(1))) }
      throw error
    }
    guard let dismissed = arguments.children.first, dismissed.isOfType("b") else {
      throw .malformed
    }
    return !dismissed.bool
  }

  /// Shows a prompt that stands between an open collection and a change of it.
  func answer(_ prompt: ObjectPath, by deadline: Deadline) async throws(BusError) {
    guard try await show(prompt, by: deadline) else { throw .dismissed }
  }

  func dismiss(_ prompt: ObjectPath, by deadline: Deadline) async throws(BusError) {
    _ = try await ask(.dismiss, of: prompt, nil, by: deadline)
  }
}

extension Variant {
  /// The path of a prompt, where there is one.
  var prompt: ObjectPath? { objectPath == .none ? nil : objectPath }
}
