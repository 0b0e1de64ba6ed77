internal import CLinux
internal import Glibc
package import KistBus
package import KistCore
package import KistSecretService
internal import KistWire
private import Synchronization

/// Serves the Secret Service on a bus.
actor Provider {
  static let secretsName = "org.freedesktop.secrets"
  /// The name by which kistd recognises its own provider.
  static let ownName = "io.kist.SecretService"
  /// The name by which xdg-desktop-portal finds the back end of the portal.
  static let portalName = "org.freedesktop.impl.portal.desktop.kist"
  /// All names, in the order in which they are taken.
  static let names = [ownName, portalName, secretsName]

  nonisolated let bus: Bus
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe bus.asUnownedSerialExecutor() }
  let service: SecretService
  private var clients: [String: Client] = [:]
  private var lastCall = ContinuousClock.now
  private var isLeaving = false
  /// A descriptor in the middle of those that this process may have open.
  private let middleDescriptor: CInt
  /// Called when the service must end, with the reason; `nil` if it was idle.
  let end: @Sendable (StorageError?) -> Void

  init(
    _ bus: Bus, _ functions: SecretService.Functions, machine: [UInt8],
    end: @escaping @Sendable (StorageError?) -> Void
  ) throws(StorageError) {
    self.bus = bus
    self.end = end
    service = try SecretService(functions, machine: machine)
    var limit = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    middleDescriptor = CInt(clamping: limit.rlim_cur / 2)
  }

  /// Takes the names again on a new connection to the bus; programs must open sessions again.
  func startAgain() {
    for (name, client) in clients {
      client.hasLeft = true
      service.forget(name)
    }
    clients = [:]
    // A busy bus may not know yet that the old connection, which had the names, is closed.
    Task.immediate { await takeNames(patience: .seconds(5)) }
  }

  /// Connects the service to the bus, and takes the names.
  func start(idleExit: Duration?) {
    service.emit = { [bus] signal in bus.send(signal) }
    service.isPresent = { [unowned self] name in
      assumeIsolated { $0.clients[name] != nil }
    }
    service.whenListsChange = { [unowned self] in
      assumeIsolated { $0.announceSoon() }
    }
    service.whenRead = { kist_give_back_memory() }
    service.whenLost = { [unowned self] _ in
      assumeIsolated { $0.wakeLater() }
    }
    Task.immediate { await service.follow() }
    Task.immediate {
      await takeNames()
      if let idleExit { await endWhenIdle(for: idleExit) }
    }
  }

  private func announceSoon() {
    Task.immediate {
      await bus.sleep(for: .milliseconds(300))
      await bus.waitUntilSent()
      service.announceLists()
      // A list needs much more memory than the index.
      kist_give_back_memory()
    }
  }

  private func wakeLater() {
    Task.immediate {
      await bus.sleep(for: .seconds(5))
      service.wake()
    }
  }

  // MARK: - Messages

  func receive(_ message: sending BusMessage) {
    switch message.kind {
    case .signal: take(signal: message)
    case .call: take(call: message)
    case .reply, .error: break
    }
  }

  private func take(signal: BusMessage) {
    guard signal.sender == "org.freedesktop.DBus", let name = try? signal.readString() else {
      return
    }
    switch signal.member {
    case "NameOwnerChanged":
      guard let client = clients.removeValue(forKey: name) else { return }
      client.hasLeft = true
      service.forget(name)
    case "NameLost" where !isLeaving && Self.names.contains(name):
      end(StorageError(.unavailable, "the bus took the name \(name) away"))
    default: break
    }
  }

  private func take(call: BusMessage) {
    // Any call may contain a secret, even one that is refused or never answered.
    call.markSensitive()
    let name = call.sender
    lastCall = .now
    // The descriptors of a message are open in this process until its call was answered, and it can
    // have more than its arguments name. The system assigns the lowest numbers first. So those of the
    // calls that wait stay in the lower half, and the next message can always be received.
    guard fcntl(middleDescriptor, F_GETFD) < 0 else {
      return refuse(call, with: ServiceError.overLimit("too many file descriptors are open"))
    }
    guard !call.hasDescriptors || call.hasPath(ObjectPath.portal.path) else {
      return refuse(
        call, with: BusError.invalidArguments("only the Secret portal takes a file descriptor"))
    }
    let client = client(named: name)
    do { try client.add(call) } catch { return refuse(call, with: error) }
    if !client.isServed {
      client.isServed = true
      // Without the preference, the task continues on a thread of the system after each wait, and
      // that thread only switches back to this one.
      Task(executorPreference: bus) { await self.serve(name) }
    }
  }

  private func client(named name: String) -> Client {
    if let client = clients[name] { return client }
    let client = Client(name)
    clients[name] = client
    return client
  }

  /// Answers the calls of a program one after another, because it relies on their order.
  private func serve(_ name: String) async {
    guard let client = clients[name] else { return }
    if client.isOwn == nil { await identify(client) }
    await Caller.$program.withValue(client.program) { await serveCalls(of: client) }
  }

  private func serveCalls(of client: Client) async {
    while !client.hasLeft, let call = client.takeCall() {
      await bus.waitUntilSent()
      if client.isOwn != true {
        answer(call, with: ServiceError.denied("kist serves only the programs of its own user"))
      } else if call.hasPath(ObjectPath.portal.path) {
        answerApart(call, from: client)
      } else {
        await answer(call, from: client.name)
      }
    }
    client.isServed = false
  }

  /// Answers a call of the portal without delaying the later ones, which are of other applications.
  private func answerApart(_ call: BusMessage, from client: Client) {
    guard client.portalCalls < ServiceLimits.portalCalls else {
      return answer(call, with: ServiceError.overLimit("too many calls of the portal wait"))
    }
    client.portalCalls += 1
    let task = Mutex<Task<Void, Never>?>(nil)
    let started = Task.immediate {
      await answer(call, from: client.name) { task.withLock { $0?.cancel() } }
      client.portalCalls -= 1
    }
    task.withLock { $0 = started }
  }

  /// Asks the bus once which user and which process a connection belongs to.
  private func identify(_ client: Client) async {
    let request = busCall("GetConnectionCredentials")
    request.write(client.name)
    let credentials = try? await bus.reply(to: request).readCredentials()
    client.isOwn = credentials?.user == geteuid()
    client.program = credentials?.process.flatMap(ClaimedProgram.init(process:))
  }

  private func answer(
    _ message: BusMessage, from client: String, stop: @escaping @Sendable () -> Void = {}
  ) async {
    do {
      let (call, method) = try call(message, from: client, stop)
      let reply = try await method.run(service, call)
      if message.expectsReply { bus.send(reply) }
      if let prompt = call.promptToShow {
        let task = Task.immediate { await service.showPrompt(prompt) }
        service.keep(task.cancel, of: prompt)
      }
    } catch { answer(message, with: error) }
  }

  private func answer(_ message: BusMessage, with error: any Error) {
    guard message.expectsReply else { return }
    bus.send(message.reply(BusError(error)))
  }

  /// Refuses a call without waiting for the bus; sends nothing if too many messages wait for it.
  private func refuse(_ message: BusMessage, with error: any Error) {
    guard message.expectsReply else { return }
    bus.sendUnlessCongested(message.reply(BusError(error)))
  }

  /// Finds the method of a call, and checks the types of its arguments.
  private func call(
    _ message: BusMessage, from client: String, _ stop: @escaping @Sendable () -> Void
  ) throws(BusError) -> (Call, Method) {
    guard let object = service.object(at: message.path), service.exists(object, for: client) else {
      // Not UnknownObject, which ends programs that use SecretStorage before 3.5.
      throw BusError(ServiceError.noSuchObject)
    }
    let member = message.member
    let interfaces = try object.interfaces(named: message.interface)
    guard let method = interfaces.firstMethod(named: member) else {
      throw BusError("org.freedesktop.DBus.Error.UnknownMethod", "there is no such method")
    }
    guard message.hasSignature(method.inputTypes) else {
      throw .invalidArguments("the arguments of \(method.name) have the types \(method.inputTypes)")
    }
    return (Call(message, from: client, to: object, on: bus, stop: stop), method)
  }

  // MARK: - The end

  /// Ends the process after a time without a call, if no program has a session.
  private func endWhenIdle(for duration: Duration) async {
    lastCall = .now
    var isOver = false
    while !isOver {
      let rest = duration - (.now - lastCall)
      if rest > .zero {
        await bus.sleep(for: rest)
      } else if service.isInUse || clients.values.contains(where: \.isBusy) {
        await bus.sleep(for: duration)
      } else {
        await releaseNames()
        isOver = true
      }
    }
  }

  /// Gives the names back, answers the calls that arrived before that, and ends the process.
  private func releaseNames() async {
    isLeaving = true
    for name in Self.names.reversed() {
      let request = busCall("ReleaseName")
      request.write(name)
      _ = try? await bus.reply(to: request)
    }
    while clients.values.contains(where: \.isBusy) { await bus.sleep(for: .milliseconds(10)) }
    bus.flush()
    end(nil)
  }
}

/// Serves the Secret Service on a bus until its connection ends, and returns the reason for that.
///
/// - Parameters:
///   - machine: Bytes that are the same at each start on this machine.
///   - idleExit: The time without a call after which the service ends.
///   - end: Called when the service must end, with the reason; `nil` if it was idle.
package func serveSecretService(
  on bus: Bus, _ functions: SecretService.Functions, machine: [UInt8], idleExit: Duration? = nil,
  end: @escaping @Sendable (StorageError?) -> Void
) throws(StorageError) -> BusError {
  // The reader of a secret for the portal may end at any time.
  signal(SIGPIPE, SIG_IGN)
  let provider = try Provider(bus, functions, machine: machine, end: end)
  provider.assumeIsolated { $0.start(idleExit: idleExit) }
  return bus.run(whenConnectedAgain: { provider.assumeIsolated { $0.startAgain() } }) { message in
    provider.assumeIsolated { $0.receive(message) }
  }
}

extension BusError {
  init(_ error: any Error) {
    self =
      switch error {
      case let error as BusError: error
      case let error as ServiceError: BusError(error.name, error.message)
      case let error as StorageError: BusError(ServiceError(error))
      default: BusError("org.freedesktop.DBus.Error.Failed", "kist has a fault; please report it")
      }
  }
}
