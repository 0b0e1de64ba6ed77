internal import KistCore

/// The user's keyring; connects when it is first needed, and again after a lost connection.
actor Keyring {
  let options: Libsecret.Options
  nonisolated let loop = MainLoop()
  private var service: SecretService?
  private(set) var isClosed = false
  /// Whether a prompt is open; only one is open at a time.
  var isUnlocking = false
  /// Set by a requested lock; then kistd does not even unlock a keyring that needs no password.
  var isToStayLocked = false
  private let connecting = Turnstile()
  /// Changes happen one at a time, so that conditions hold among the clients of this process.
  let changes = Turnstile()
  let watchers = Watchers()
  /// The items, while there are watchers.
  var following: ItemWatch?
  /// A part of every revision, so that two processes never issue the same one.
  private let epoch = String(UInt64.random(in: .min ... .max), radix: 36)
  private var sequence: UInt64 = 0

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  init(_ options: Libsecret.Options) { self.options = options }

  /// Closes the keyring after the change in progress, which ends in time; refuses later changes.
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

  /// Performs a request that changes nothing, and repeats it once if the provider was restarted.
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

  /// Connects again at the next request, unless that has already happened.
  func disconnect(from gone: SecretService) {
    if service === gone { service = nil }
  }

  /// Unlocks a keyring that needs no prompt.
  ///
  /// Even a keyring without a password is locked after each start of its provider. Refusals are
  /// ignored, because the next request meets them, too.
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
  /// Performs a request within its time, and converts bus errors to errors for the user.
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
