internal import KistCore

/// The user's keyring: connected to when it is first needed, and again whenever it went away.
actor Keyring {
  let options: Libsecret.Options
  nonisolated let loop = MainLoop()
  private var service: SecretService?
  private(set) var isClosed = false
  /// Whether a prompt is open; one at a time is.
  var isUnlocking = false
  /// Set by a lock that was asked for, after which not even what needs no password opens it.
  var isToStayLocked = false
  private let connecting = Turnstile()
  /// Changes happen one after the other, so that conditions hold among the clients of this process.
  let changes = Turnstile()
  let watchers = Watchers()
  /// The items, as long as somebody watches.
  var following: ItemWatch?
  /// Part of every revision, so that no two processes give out the same one.
  private let epoch = String(UInt64.random(in: .min ... .max), radix: 36)
  private var sequence: UInt64 = 0

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  init(_ options: Libsecret.Options) { self.options = options }

  /// Waits for the change that is under way, which ends within its time; those behind it are refused.
  func close() async {
    isClosed = true
    await changes.enter()
    defer { changes.leave() }
    following?.wake()
    following = nil
    watchers.end(.closed)
    service = nil
  }

  func nextRevision() -> Revision {
    sequence += 1
    return Revision(epoch: epoch, sequence: sequence)
  }

  /// Asks the provider something that changes nothing, a second time where it was restarted.
  func asking<Answer>(
    by deadline: Deadline,
    _ body: (SecretService) async throws -> Answer
  ) async throws -> Answer {
    let service = try await connected(by: deadline)
    do { return try await body(service) } catch BusError.disconnected, BusError.noOwner {
      disconnect(from: service)
      return try await body(try await connected(by: deadline))
    }
  }

  private func connected(by deadline: Deadline) async throws -> SecretService {
    guard !isClosed else { throw StorageError.closed }
    if let service { return service }
    await connecting.enter()
    defer { connecting.leave() }
    guard !isClosed else { throw StorageError.closed }
    if let service { return service }
    guard let address = options.busAddress else { throw StorageError.noBus }
    let new = try await SecretService(connectingTo: address, on: loop, by: deadline)
    if !isToStayLocked { try await openWithoutPrompt(new, by: deadline) }
    if !isClosed { service = new }
    return new
  }

  /// Connects anew at the next request, unless that has happened already.
  func disconnect(from gone: SecretService) {
    if service === gone { service = nil }
  }

  /// A keyring without a password is locked, too, after each start of its provider.
  ///
  /// A provider that refuses this is asked nothing worse than a request will be.
  private func openWithoutPrompt(_ service: SecretService, by deadline: Deadline) async throws {
    do throws(BusError) {
      guard
        let collection = try await service.defaultCollection(by: deadline),
        try await service.isLocked(collection, by: deadline)
      else { return }
      _ = try await service.unlock([collection], by: deadline)
    } catch {
      if error == .timeout || error == .disconnected { throw error }
    }
  }
}

extension Keyring {
  /// Carries out a request within its time; what goes wrong on the bus is told in the words of a user.
  func perform<Answer: Sendable>(
    _ body: (Deadline) async throws -> Answer
  ) async throws(StorageError) -> Answer {
    do { return try await body(Deadline(after: options.deadline)) } catch let error as StorageError
    {
      throw error
    } catch let error as BusError {
      throw StorageError(error, deadline: options.deadline)
    } catch { throw .internal("an error of no known kind") }
  }
}
