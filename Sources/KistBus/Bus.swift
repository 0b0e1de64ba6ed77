internal import CSystemd
internal import Glibc
internal import KistSystem
private import Synchronization

/// A connection to a message bus, and the thread that serves it, on which an actor runs.
///
/// sd-bus is used only on the thread that calls `run`: by the actor, whose executor this is, and by
/// the messages that arrive. So a call that waits for nothing switches no thread.
@safe package final class Bus: SerialExecutor, TaskExecutor, @unchecked Sendable {
  /// Another one after `connectAgain`.
  private(set) var bus: OpaquePointer
  private let address: String?
  private let jobs = Mutex<[UnownedJob]>([])
  /// The jobs that run now; it swaps its memory with `jobs`.
  private var running: [UnownedJob] = []
  /// An eventfd(2), which wakes the thread.
  private let alarm: CInt
  private let thread: pthread_t
  // Used only on the thread.
  private var timers: [Timer] = []
  private var readers: [Reader] = []
  private var descriptors: [pollfd] = []
  private var receive: (sending BusMessage) -> Void = { _ in }
  private var objects: [String: (BusMessage) -> Void] = [:]
  /// The calls of this process whose replies have not arrived.
  var pending: [ObjectIdentifier: PendingReply] = [:]
  /// The messages that were sent since the bus last took all of them.
  var backlog = 0
  private var senders: [CheckedContinuation<Void, Never>] = []

  private struct Timer {
    let moment: ContinuousClock.Instant
    let continuation: CheckedContinuation<Void, Never>
  }

  /// A task that waits until it can read from a descriptor, or until a moment.
  private struct Reader {
    let descriptor: CInt
    let end: ContinuousClock.Instant
    let continuation: CheckedContinuation<Void, Never>
  }

  /// Connects the calling thread, which must later call `run`, to a bus.
  ///
  /// - Parameter address: The address; `nil` for the session bus of the environment.
  package init(address: String? = nil) throws(BusError) {
    thread = pthread_self()
    alarm = kist_make_alarm()
    guard alarm >= 0 else { throw .disconnected(errno) }
    self.address = address
    do throws(BusError) { unsafe bus = try Self.connect(to: address) } catch {
      close(alarm)
      throw error
    }
  }

  private static func connect(to address: String?) throws(BusError) -> OpaquePointer {
    var bus: OpaquePointer?
    var status: CInt
    if let address {
      status = unsafe sd_bus_new(&bus)
      if status >= 0 { status = unsafe sd_bus_set_address(bus, address) }
      if status >= 0 { status = unsafe sd_bus_set_bus_client(bus, 1) }
      if status >= 0 { status = unsafe sd_bus_start(bus) }
    } else {
      status = unsafe sd_bus_open_user(&bus)
    }
    guard status >= 0, let bus = unsafe bus else {
      unsafe sd_bus_unref(bus)
      throw .disconnected(status)
    }
    return unsafe bus
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
  /// Any program on the bus can send a message that sd-bus cannot receive: one of nearly 128 MiB, to
  /// which the bus adds a few bytes. It ends the connection, which is then made again.
  ///
  /// - Parameters:
  ///   - whenConnectedAgain: Called after that; what belonged to the old connection is lost.
  ///   - receive: Called with each call and each signal.
  package func run(
    whenConnectedAgain: () -> Void = {}, _ receive: @escaping (sending BusMessage) -> Void
  ) -> BusError {
    precondition(isOnThread, "the thread that connects serves the bus")
    self.receive = receive
    receiveMessages()
    while true {
      let status = unsafe sd_bus_process(bus, nil)
      if status == -ENOBUFS || status == -EXFULL {
        do throws(BusError) { try connectAgain() } catch { return error }
        whenConnectedAgain()
        continue
      }
      if status < 0 { return .disconnected(status) }
      if unsafe sd_bus_is_open(bus) <= 0 { return .disconnected(ECONNRESET) }
      runJobs()
      fireTimers()
      resumeSenders()
      wait()
    }
  }

  private func connectAgain() throws(BusError) {
    // First, so that the bus gives back the names of this process.
    unsafe sd_bus_close(bus)
    let old = unsafe bus
    unsafe bus = try Self.connect(to: address)
    unsafe sd_bus_unref(old)
    receiveMessages()
    let calls = pending.values
    pending = [:]
    for call in calls { call.fail() }
  }

  private func receiveMessages() {
    let filter: sd_bus_message_handler_t = { message, bus, _ in
      let bus = unsafe Unmanaged<Bus>.fromOpaque(bus!).takeUnretainedValue()
      return unsafe bus.take(message!)
    }
    unsafe mustSucceed(
      sd_bus_add_filter(bus, nil, filter, Unmanaged.passUnretained(self).toOpaque()))
  }

  /// Takes a message that arrived; returns 0 to leave it to sd-bus.
  private func take(_ pointer: OpaquePointer) -> CInt {
    // Only the receiver keeps it, on this thread.
    nonisolated(unsafe) let message = unsafe BusMessage(sharing: pointer)
    let kind = unsafe message.kind
    if unsafe message.isForBusLibrary {
      if kind != .call { return 0 }
      if isCongested { return 1 }
      noteSending()
      return 0
    }
    if kind == .call, !objects.isEmpty, let object = unsafe objects[message.path] {
      unsafe object(message)
    } else {
      unsafe receive(message)
    }
    return 1
  }

  /// Gives the calls of one object to a function, which replies to them.
  package func serve(_ path: String, _ object: @escaping (BusMessage) -> Void) {
    precondition(isOnThread)
    objects[path] = object
  }

  /// Gives the calls of the object to the function of `run` again.
  package func stopServing(_ path: String) {
    precondition(isOnThread)
    objects[path] = nil
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
    if let first = firstMoment {
      let rest = max(0, (first - .now).wholeMilliseconds)
      milliseconds = milliseconds < 0 ? rest : min(milliseconds, rest)
    }
    descriptors.removeAll(keepingCapacity: true)
    descriptors.append(
      pollfd(
        fd: unsafe sd_bus_get_fd(bus), events: Int16(unsafe sd_bus_get_events(bus)), revents: 0))
    descriptors.append(pollfd(fd: alarm, events: Int16(POLLIN), revents: 0))
    for reader in readers {
      descriptors.append(pollfd(fd: reader.descriptor, events: Int16(POLLIN), revents: 0))
    }
    _ = unsafe poll(&descriptors, nfds_t(descriptors.count), CInt(clamping: milliseconds))
    if descriptors[1].revents != 0 {
      var count: UInt64 = 0
      _ = unsafe read(alarm, &count, 8)
    }
    if !readers.isEmpty { resumeReaders(descriptors.dropFirst(2)) }
  }

  /// The first moment at which a timer fires or a reader stops waiting.
  private var firstMoment: ContinuousClock.Instant? {
    var first: ContinuousClock.Instant?
    for timer in timers { first = min(first ?? timer.moment, timer.moment) }
    for reader in readers { first = min(first ?? reader.end, reader.end) }
    return first
  }

  private func resumeReaders(_ descriptors: ArraySlice<pollfd>) {
    let waiting = readers
    readers = []
    for (reader, descriptor) in zip(waiting, descriptors) {
      if descriptor.revents != 0 || reader.end <= .now {
        reader.continuation.resume()
      } else {
        readers.append(reader)
      }
    }
  }

  /// Waits until the bus has taken everything that was sent.
  ///
  /// Without that, the replies to a program that sends many calls pile up in this process.
  package nonisolated(nonsending) func waitUntilSent() async {
    while hasUnsent { await withCheckedContinuation { senders.append($0) } }
  }

  private func resumeSenders() {
    guard !senders.isEmpty, !hasUnsent else { return }
    let resumed = senders
    senders = []
    for continuation in resumed { continuation.resume() }
  }

  private func fireTimers() {
    if timers.isEmpty { return }
    let now = ContinuousClock.now
    let due = timers.filter { $0.moment <= now }
    timers.removeAll { $0.moment <= now }
    for timer in due { timer.continuation.resume() }
  }

  /// Waits until a descriptor can be read, or until a moment, on the thread of the bus.
  package nonisolated(nonsending) func waitToRead(
    _ descriptor: CInt, until end: ContinuousClock.Instant
  ) async {
    await withCheckedContinuation { continuation in
      precondition(isOnThread)
      readers.append(Reader(descriptor: descriptor, end: end, continuation: continuation))
    }
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

  var isOnThread: Bool { pthread_equal(thread, pthread_self()) != 0 }

  private func runJobs() {
    let actor = unsafe asUnownedSerialExecutor()
    let task = unsafe asUnownedTaskExecutor()
    while true {
      jobs.withLock { swap(&$0, &running) }
      if running.isEmpty { return }
      for job in running { unsafe job.runSynchronously(isolatedTo: actor, taskExecutor: task) }
      running.removeAll(keepingCapacity: true)
    }
  }
}

extension Duration {
  /// The duration in whole milliseconds, rounded up.
  var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
  }
}
