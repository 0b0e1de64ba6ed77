internal import CSystemd
internal import Glibc
internal import KistSystem
private import Synchronization

/// A connection to a message bus, and the thread that serves it, on which an actor runs.
///
/// sd-bus is used only on the thread that calls `run`: by the actor, whose executor this is, and by
/// the messages that arrive. So a call that waits for nothing switches no thread.
@safe package final class Bus: SerialExecutor, TaskExecutor, @unchecked Sendable {
  private let bus: OpaquePointer
  private let jobs = Mutex<[UnownedJob]>([])
  /// An eventfd(2), which wakes the thread.
  private let alarm: CInt
  private let thread: pthread_t
  // Used only on the thread.
  private var timers: [Timer] = []
  private var receive: (sending BusMessage) -> Void = { _ in }

  private struct Timer {
    let moment: ContinuousClock.Instant
    let continuation: CheckedContinuation<Void, Never>
  }

  /// Connects the calling thread, which must later call `run`, to a bus.
  ///
  /// - Parameters:
  ///   - address: The address; `nil` for the session bus of the environment.
  ///   - acceptsDescriptors: Whether messages may contain file descriptors. Each one is open in this
  ///     process until its message is released, so a program could use up all of them.
  package init(address: String? = nil, acceptsDescriptors: Bool = false) throws(BusError) {
    let address = if let address { address } else { try sessionBusAddress() }
    thread = pthread_self()
    alarm = kist_make_alarm()
    guard alarm >= 0 else { throw .disconnected(errno) }
    var bus: OpaquePointer?
    var status = unsafe sd_bus_new(&bus)
    if status >= 0 { status = unsafe sd_bus_set_address(bus, address) }
    if status >= 0 { status = unsafe sd_bus_set_bus_client(bus, 1) }
    if status >= 0 { status = unsafe sd_bus_negotiate_fds(bus, acceptsDescriptors ? 1 : 0) }
    if status >= 0 { status = unsafe sd_bus_start(bus) }
    guard status >= 0, let bus = unsafe bus else {
      unsafe sd_bus_unref(bus)
      close(alarm)
      throw .disconnected(status)
    }
    unsafe self.bus = bus
  }

  deinit {
    unsafe sd_bus_close_unref(bus)
    close(alarm)
  }

  /// The unique name of this connection.
  package func uniqueName() throws(BusError) -> String {
    var name: UnsafePointer<CChar>?
    let status = unsafe sd_bus_get_unique_name(bus, &name)
    guard status >= 0, let name = unsafe name else { throw .disconnected(status) }
    return unsafe String(cString: name)
  }

  /// Serves the bus until the connection ends, and returns the reason.
  ///
  /// - Parameter receive: Called with each call and each signal.
  package func run(_ receive: @escaping (sending BusMessage) -> Void) -> BusError {
    precondition(isOnThread, "the thread that connects serves the bus")
    self.receive = receive
    let filter: sd_bus_message_handler_t = { message, bus, _ in
      let bus = unsafe Unmanaged<Bus>.fromOpaque(bus!).takeUnretainedValue()
      return unsafe bus.take(message!)
    }
    unsafe mustSucceed(
      sd_bus_add_filter(bus, nil, filter, Unmanaged.passUnretained(self).toOpaque()))
    while true {
      runJobs()
      fireTimers()
      let status = unsafe sd_bus_process(bus, nil)
      if status < 0 { return .disconnected(status) }
      if unsafe sd_bus_is_open(bus) <= 0 { return .disconnected(ECONNRESET) }
      if status == 0 { wait() }
    }
  }

  /// Takes a message that arrived; returns 0 to leave it to sd-bus.
  private func take(_ pointer: OpaquePointer) -> CInt {
    if unsafe BusMessage(sharing: pointer).isForBusLibrary { return 0 }
    // Only the receiver keeps it, on this thread.
    nonisolated(unsafe) let message = unsafe BusMessage(sharing: pointer)
    unsafe receive(message)
    return 1
  }

  private func wait() {
    if !jobs.withLock({ $0.isEmpty }) { return }
    var limit: UInt64 = .max
    _ = unsafe sd_bus_get_timeout(bus, &limit)
    var milliseconds: Int64 = -1
    if limit != .max {
      var now = timespec()
      unsafe clock_gettime(CLOCK_MONOTONIC, &now)
      let moment = UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1000
      milliseconds = limit <= moment ? 0 : Int64((limit - moment + 999) / 1000)
    }
    if let first = timers.map(\.moment).min() {
      let rest = max(0, (first - .now).wholeMilliseconds)
      milliseconds = milliseconds < 0 ? rest : min(milliseconds, rest)
    }
    var descriptors = [
      pollfd(
        fd: unsafe sd_bus_get_fd(bus), events: Int16(unsafe sd_bus_get_events(bus)), revents: 0),
      pollfd(fd: alarm, events: Int16(POLLIN), revents: 0),
    ]
    _ = unsafe poll(&descriptors, 2, CInt(clamping: milliseconds))
    if descriptors[1].revents != 0 {
      var count: UInt64 = 0
      _ = unsafe read(alarm, &count, 8)
    }
  }

  private func fireTimers() {
    if timers.isEmpty { return }
    let now = ContinuousClock.now
    let due = timers.filter { $0.moment <= now }
    timers.removeAll { $0.moment <= now }
    for timer in due { timer.continuation.resume() }
  }

  /// Waits for some time, on the thread of the bus.
  package nonisolated(nonsending) func sleep(for duration: Duration) async {
    await withCheckedContinuation { continuation in
      precondition(isOnThread)
      timers.append(Timer(moment: .now + duration, continuation: continuation))
    }
  }
}

// MARK: - The executor

extension Bus {
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    if isOnThread { return }
    var one: UInt64 = 1
    _ = unsafe write(alarm, &one, 8)
  }

  package func checkIsolated() {
    precondition(isOnThread, "only the thread of the bus may use it")
  }

  package func isIsolatingCurrentContext() -> Bool? { isOnThread }

  private var isOnThread: Bool { pthread_equal(thread, pthread_self()) != 0 }

  private func runJobs() {
    let actor = unsafe asUnownedSerialExecutor()
    let task = unsafe asUnownedTaskExecutor()
    while true {
      let waiting = jobs.withLock { jobs in
        defer { jobs.removeAll(keepingCapacity: true) }
        return jobs
      }
      if waiting.isEmpty { return }
      for job in waiting { unsafe job.runSynchronously(isolatedTo: actor, taskExecutor: task) }
    }
  }
}

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
    _ = unsafe sd_bus_send(bus, message.pointer, nil)
  }

  /// Sends a call and waits for its reply.
  package nonisolated(nonsending) func reply(
    to call: BusMessage, within limit: Duration = .seconds(25)
  ) async throws(BusError) -> BusMessage {
    precondition(isOnThread)
    let pending = PendingReply()
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
    let reply = await pending.reply()
    if let error = reply.error { throw error }
    return reply
  }

  /// Waits until everything that was sent has left this process.
  package func flush() { _ = unsafe sd_bus_flush(bus) }
}

/// A reply that arrives on the thread of the bus.
private final class PendingReply {
  private var message: BusMessage?
  private var waiting: CheckedContinuation<Void, Never>?

  func arrive(_ message: BusMessage) {
    self.message = message
    waiting?.resume()
    waiting = nil
  }

  func reply() async -> BusMessage {
    if message == nil {
      await withCheckedContinuation { continuation in
        if message == nil { waiting = continuation } else { continuation.resume() }
      }
    }
    return message!
  }
}

extension BusMessage {
  /// Whether sd-bus handles the message: the interface Peer, the end of the connection, replies.
  fileprivate var isForBusLibrary: Bool {
    interface == "org.freedesktop.DBus.Peer" || interface == "org.freedesktop.DBus.Local"
      || kind == .reply || kind == .error
  }
}

extension Duration {
  /// The duration in whole milliseconds, rounded up.
  fileprivate var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
  }
}

/// Returns 16 bytes that are the same at each start on this machine, and differ from machine to
/// machine; `nil` if the machine has no identifier.
package func machineIdentifier() -> [UInt8]? {
  var bytes = [UInt8](repeating: 0, count: 16)
  return unsafe kist_machine_identifier(&bytes) != 0 ? bytes : nil
}
