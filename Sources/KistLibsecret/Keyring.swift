internal import KistCore

/// The user's keyring; connects when it is first needed, and again after a lost connection.
actor Keyring {
  let options: Libsecret.Options
  nonisolated let loop = MainLoop()
  private var service: SecretService?
  /// Reports the end of the bus, even after the provider went away and `service` was released.
  private var busEnd: Registration?
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
  /// A part of every revision, so that two processes never issue the same revision.
  private let epoch = String(UInt64.random(in: .min ... .max), radix: 36)
  private var sequence: UInt64 = 0

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  init(_ options: Libsecret.Options) { self.options = options }

  /// Closes the keyring after the change in progress, which has a deadline; refuses later changes.
  func close() async {
    isClosed = true
    await changes.enter()
    defer { changes.leave() }
    following?.wake()
    following = nil
    watchers.end(.closed)
    service = nil
    busEnd = nil
  }

  func nextRevision() -> Revision {
    sequence += 1
    return Revision(epoch: epoch, sequence: sequence)
  }

  /// Performs a request that changes nothing, and repeats it once if the provider was restarted.
  func asking<Answer>(
    by deadline: Deadline, _ body: (Provider) async throws -> Answer
  ) async throws -> Answer {
    let provider = try await connected(by: deadline)
    do { return try await body(provider) } catch BusError.disconnected, BusError.noOwner {
      disconnect(from: provider.service)
      return try await body(try await connected(by: deadline))
    }
  }

  private func connected(by deadline: Deadline) async throws -> Provider {
    guard !isClosed else { throw StorageError.closed }
    if let service { return Provider(service: service, deadline: deadline) }
    await connecting.enter()
    defer { connecting.leave() }
    guard !isClosed else { throw StorageError.closed }
    if let service { return Provider(service: service, deadline: deadline) }
    guard let address = options.busAddress else { throw StorageError.noSessionBus }
    let new = try await SecretService(connectingTo: address, on: loop, by: deadline)
    let provider = Provider(service: new, deadline: deadline)
    if !isToStayLocked { try await openWithoutPrompt(provider) }
    if !isClosed {
      service = new
      busEnd = new.bus.subscribeToClosing(options.whenBusEnds)
    }
    return provider
  }

  /// Connects again at the next request, unless that has already happened.
  func disconnect(from gone: SecretService) { if service === gone { service = nil } }

  /// Unlocks a keyring that needs no prompt.
  ///
  /// Even a keyring without a password is locked after each start of its provider. Refusals are
  /// ignored, because the next request meets them, too.
  private func openWithoutPrompt(_ provider: Provider) async throws {
    do throws(BusError) {
      if let collection = try await provider.defaultCollection(),
        try await provider.isLocked(collection)
      {
        _ = try await provider.unlock([collection])
      }
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
    do { return try await body(Deadline(after: options.deadline)) } catch let error as BusError {
      throw StorageError(error, deadline: options.deadline)
    } catch { throw error as? StorageError ?? .internal("an unexpected kind of error") }
  }

  /// Performs a request that changes nothing, within its time.
  func asking<Answer: Sendable>(
    _ body: (Provider) async throws -> Answer
  ) async throws(StorageError) -> Answer { try await perform { try await asking(by: $0, body) } }

  func load(_ request: LoadRequest) async throws(StorageError) -> Credential {
    try await asking { provider in
      if let credential = try await provider.credential(of: request.key) { return credential }
      _ = try await provider.openCollection()
      throw StorageError.notFound
    }
  }

  func find(_ query: CredentialQuery) async throws(StorageError) -> CredentialPage {
    try query.page(of: await asking { try await $0.summaries(of: query) })
  }
}

/// A lock that admits one task at a time, in the order of arrival; used on one actor.
final class Turnstile {
  private var isTaken = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func enter() async {
    if take() { return }
    // The turnstile may become free before the continuation is made.
    await withCheckedContinuation { continuation in
      if take() { continuation.resume() } else { waiting.append(continuation) }
    }
  }

  private func take() -> Bool {
    defer { isTaken = true }
    return !isTaken
  }

  func leave() { if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() } }
}
