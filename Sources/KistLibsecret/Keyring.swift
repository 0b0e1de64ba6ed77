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

  func load(_ request: LoadRequest) async throws(StorageError) -> Credential {
    try await perform { deadline in
      try await asking(by: deadline) { service in
        if let credential = try await service.credential(of: request.key, by: deadline) {
          return credential
        }
        _ = try await service.openCollection(by: deadline)
        throw StorageError.notFound
      }
    }
  }

  func find(_ query: CredentialQuery) async throws(StorageError) -> CredentialPage {
    let summaries = try await perform { deadline in
      try await asking(by: deadline) { service in
        try await service.summaries(with: Item.attributes(of: query), by: deadline)
      }
    }
    return try query.page(of: summaries)
  }
}

extension SecretService {
  /// Returns the credentials with these attributes, with the newest of several items of a key.
  func summaries(
    with attributes: [String: String], by deadline: Deadline
  ) async throws -> [CredentialSummary] {
    let items = try await items(with: attributes, by: deadline)
    if items.isEmpty { _ = try await openCollection(by: deadline) }
    return Dictionary(items.map { ($0.summary.key, $0) }) { $0.isNewer(than: $1) ? $0 : $1 }
      .values.map(\.summary)
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

  func leave() {
    if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
  }
}
