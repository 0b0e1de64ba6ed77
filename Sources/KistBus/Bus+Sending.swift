internal import CSystemd
internal import Glibc

// MARK: - Sending

extension Bus {
  package func makeCall(
    to destination: String, _ path: String, _ interface: String, _ member: String
  ) -> BusMessage {
    var message: OpaquePointer?
    unsafe mustSucceed(
      sd_bus_message_new_method_call(bus, &message, destination, path, interface, member))
    return unsafe BusMessage(owning: message!)
  }

  /// Returns a signal; without a destination, every program that asks for it receives it.
  package func makeSignal(
    _ path: String, _ interface: String, _ member: String, to destination: String? = nil
  ) -> BusMessage {
    var message: OpaquePointer?
    unsafe mustSucceed(sd_bus_message_new_signal(bus, &message, path, interface, member))
    if let destination {
      unsafe mustSucceed(sd_bus_message_set_destination(message, destination))
    }
    return unsafe BusMessage(owning: message!)
  }

  /// Sends a message; if the connection has ended, `run` returns soon.
  package func send(_ message: BusMessage) {
    precondition(isOnThread)
    noteSending()
    _ = unsafe sd_bus_send(bus, message.pointer, nil)
  }

  /// Sends a message, or drops it if too many wait for the bus.
  package func sendUnlessCongested(_ message: BusMessage) { if !isCongested { send(message) } }

  /// Whether messages of this process still wait for the bus.
  var hasUnsent: Bool { unsafe sd_bus_get_events(bus) & CInt(POLLOUT) != 0 }

  /// Whether so many messages wait for the bus that another one may be dropped.
  var isCongested: Bool { backlog >= 4096 && hasUnsent }

  func noteSending() { backlog = hasUnsent ? backlog + 1 : 0 }

  /// Sends a call and waits for its reply.
  package nonisolated(nonsending) func reply(
    to call: BusMessage, within limit: Duration = .seconds(25)
  ) async throws(BusError) -> BusMessage {
    precondition(isOnThread)
    let pending = PendingReply()
    self.pending[ObjectIdentifier(pending)] = pending
    defer { self.pending[ObjectIdentifier(pending)] = nil }
    let callback: sd_bus_message_handler_t = { message, pending, _ in
      let pending = unsafe Unmanaged<PendingReply>.fromOpaque(pending!).takeRetainedValue()
      unsafe pending.arrive(BusMessage(sharing: message!))
      return 1
    }
    let status = unsafe sd_bus_call_async(
      bus, nil, call.pointer, callback, Unmanaged.passRetained(pending).toOpaque(),
      UInt64(max(1, limit.wholeMilliseconds)) * 1000)
    if status < 0 {
      unsafe Unmanaged.passUnretained(pending).release()
      throw .disconnected(status)
    }
    let reply = try await pending.reply()
    if let error = reply.error { throw error }
    return reply
  }

  /// Waits until everything that was sent has left this process.
  package func flush() { _ = unsafe sd_bus_flush(bus) }
}

/// A reply that arrives on the thread of the bus.
final class PendingReply {
  private var message: Result<BusMessage, BusError>?
  private var waiting: CheckedContinuation<Void, Never>?

  func arrive(_ message: BusMessage) { end(.success(message)) }

  /// Ends the waiting, because the connection has ended.
  func fail() { end(.failure(.disconnected(ECONNRESET))) }

  private func end(_ message: Result<BusMessage, BusError>) {
    self.message = message
    waiting?.resume()
    waiting = nil
  }

  func reply() async throws(BusError) -> BusMessage {
    if message == nil {
      await withCheckedContinuation { continuation in
        if message == nil { waiting = continuation } else { continuation.resume() }
      }
    }
    return try message!.get()
  }
}
