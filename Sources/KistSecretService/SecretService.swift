package import KistCore

/// The Secret Service on the credentials of kistd, without the bus.
///
/// It runs in the isolation of its caller. Each method answers one method of the interfaces.
package final class SecretService {
  /// What the service needs from outside.
  package struct Functions: Sendable {
    package var storage: UserStorage
    package var access: StorageAccess
    package var watch: WatchCredentials
    package var asking: Asking
    package var now: @Sendable () -> Timestamp

    package init(
      storage: UserStorage, access: StorageAccess, watch: WatchCredentials,
      asking: Asking = .nobody,
      now: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) {
      self.storage = storage
      self.access = access
      self.watch = watch
      self.asking = asking
      self.now = now
    }
  }

  let functions: Functions
  let hashing: Hashing
  private let numbers = ItemNumbers()
  var index: ItemIndex
  var collections: Collections
  var memory = MemoryItems()
  var sessions = Sessions()
  var prompts: [String: Prompt] = [:]
  var promptsMade = 0
  /// The prompt that asks the user now, and those that wait for their turn.
  var askingPrompt: String?
  var waitingPrompts: [(prompt: String, turn: CheckedContinuation<Bool, Never>)] = []
  var lockedSearches: [String: LockedSearch] = [:]
  var portalRequests: [String: PortalRequest] = [:]

  /// What is known of the items of kistd.
  enum State {
    /// They have to be read first.
    case unread
    case reading
    case ready
    case failed(StorageError)
  }

  var state = State.unread
  /// Whether the index has the items that kistd had at the last read.
  var isIndexed = false
  /// When kist was last known to be unlocked.
  var provedOpenAt: ContinuousClock.Instant?
  /// How long a search relies on that; asking kistd at each search would double its time.
  var openTrust: Duration = .milliseconds(50)
  /// Whether programs see the collections as locked.
  var isLocked = false
  /// The credentials that changed while all were read.
  var changedWhileReading: Set<CredentialKey> = []
  /// The error of a storage that was locked while all were read, so that the read fails.
  var lockedWhileReading: StorageError?
  /// The calls that wait until all items are read; each gets the error of the reading.
  var waiting: [CheckedContinuation<StorageError?, Never>] = []
  /// The calls that wait while a key file opens the storage; `nil` if it does not do so now.
  private var opening: [CheckedContinuation<Void, Never>]?
  /// The loop that follows kistd, while it waits for a call that needs the items.
  var follower: CheckedContinuation<Void, Never>?
  var changedLists: Set<String> = []
  /// The items that change now, by a hash, each with the changes that wait.
  private var changing: [UInt64: [CheckedContinuation<Void, Never>]] = [:]

  /// Called with each signal.
  package var emit: (ServiceSignal) -> Void = { _ in }
  /// Whether a program is still on the bus.
  package var isPresent: (_ client: String) -> Bool = { _ in true }
  /// Called when `announceLists` should be called soon.
  package var whenListsChange: () -> Void = {}
  /// Called when all items were read, which needed much more memory than the index.
  package var whenRead: () -> Void = {}
  /// Called with the error when kistd is lost; `follow` continues at the next call of `wake`.
  package var whenLost: (StorageError) -> Void = { _ in }

  /// - Parameter machine: Bytes that are the same at each start on this machine.
  package init(_ functions: Functions, machine: [UInt8]) throws(StorageError) {
    self.functions = functions
    hashing = try Hashing(machine: machine)
    index = ItemIndex(hashing: hashing, numbers: numbers)
    collections = Collections(now: functions.now())
  }

  /// Returns the object of a path; aliases lead to their collections.
  package func object(at path: String) -> ObjectPath? {
    ObjectPath(path, alias: collections.identifier(ofAlias:))
  }

  /// Forgets the sessions and the prompts of a program that has left the bus.
  package func forget(_ client: String) {
    sessions.closeAll(of: client)
    for (identifier, prompt) in prompts where prompt.client == client { remove(identifier) }
    for (identifier, search) in lockedSearches where search.client == client {
      lockedSearches[identifier] = nil
    }
  }

  /// Checks that a program did not leave during a call, because `forget` ran then.
  func checkPresence(of client: String) throws(ServiceError) {
    if !isPresent(client) { throw .denied("the program left the bus") }
  }

  /// Whether the service keeps something for a program, so that it must not end.
  package var isInUse: Bool {
    !prompts.isEmpty || !memory.identifiers.isEmpty || !sessions.isEmpty
  }

  // MARK: - kistd

  /// Sends a request to kistd; if a key file opens a locked storage, opens it and tries again.
  func perform<Output: Sendable>(
    _ request: () async throws(StorageError) -> Output
  ) async throws(ServiceError) -> Output {
    do throws(StorageError) {
      do throws(StorageError) { return try await request() } catch {
        guard error.code == .locked, try await opensUnattended() else { throw error }
        return try await request()
      }
    } catch {
      if error.code == .locked { noteLocked(error) }
      throw ServiceError(error)
    }
  }

  /// Opens a locked storage if that needs no user; throws the problem if a passphrase cannot help.
  func opensUnattended() async throws(StorageError) -> Bool {
    while true {
      let status = try await functions.access.status()
      guard status.isLocked else { return true }
      guard status.unlocksWith == .keyFile else {
        if let problem = status.problem { throw problem }
        return false
      }
      // kistd refuses a second attempt at the same time.
      guard opening != nil else { return try await openWithKeyFile() }
      await withCheckedContinuation { continuation in
        // The attempt may have ended before this runs.
        if opening == nil { continuation.resume() } else { opening?.append(continuation) }
      }
    }
  }

  private func openWithKeyFile() async throws(StorageError) -> Bool {
    opening = []
    defer {
      for continuation in opening ?? [] { continuation.resume() }
      opening = nil
    }
    return !(try await functions.access.unlock(nil)).isLocked
  }

  func noteLocked(_ error: StorageError) {
    // Calls wait until the reading ends, which then fails.
    if case .reading = state { lockedWhileReading = error } else { state = .failed(error) }
    index = emptyIndex()
    isIndexed = false
    provedOpenAt = nil
    setLocked(true)
  }

  /// Performs a change of an item while no program on the bus changes the same one.
  ///
  /// Otherwise many programs that change one item at once would make each other's changes fail.
  func inTurn<Value>(
    _ item: UInt64, _ change: () async throws(ServiceError) -> Value
  ) async throws(ServiceError) -> Value {
    await withCheckedContinuation { continuation in
      if changing[item] == nil {
        changing[item] = []
        continuation.resume()
      } else {
        changing[item]?.append(continuation)
      }
    }
    defer {
      if changing[item]?.isEmpty == false {
        changing[item]?.removeFirst().resume()
      } else {
        changing[item] = nil
      }
    }
    return try await change()
  }

  func emptyIndex() -> ItemIndex { ItemIndex(hashing: hashing, numbers: numbers) }

  func setLocked(_ value: Bool) {
    guard isLocked != value else { return }
    isLocked = value
    for collection in collections.all where collection.identifier != Collection.session {
      emit(
        .properties(
          path: collection.path, interface: InterfaceName.collection,
          [Property("Locked", .flag(value))]))
      emit(.collection(.changed, path: collection.path))
      noteChange(of: collection.identifier)
    }
  }

  /// Notes that the list of items of a collection changed.
  func noteChange(of collection: String) {
    if changedLists.isEmpty { whenListsChange() }
    changedLists.insert(collection)
  }

  /// Sends the whole lists of items that changed since the last time.
  package func announceLists() {
    for collection in changedLists where collections[collection] != nil {
      emit(
        .properties(
          path: ObjectPath.collection(collection).path, interface: InterfaceName.collection,
          [Property("Items", .paths(paths(in: collection)))]))
    }
    changedLists = []
  }

  /// The paths of the items of a collection, the newest first.
  func paths(in collection: String) -> [String] {
    collection == Collection.session
      ? memory.identifiers.map { ObjectPath.item(collection: collection, item: $0).path }
      : index.paths(in: collection).map(\.path)
  }
}
