package import KistCore

/// How the user is asked.
package struct Asking: Sendable {
  /// The answer of the user.
  package enum Answer: Sendable {
    case passphrase(Secret)
    /// The storage was unlocked elsewhere.
    case unlocked
    case dismissed
  }

  /// Whether the user can be asked at all.
  package var canAsk: @Sendable () -> Bool
  /// Asks for the passphrase of the storage; the flag says that the last one was wrong.
  package var passphrase: @Sendable (_ wasWrong: Bool) async -> Answer

  package init(
    canAsk: @escaping @Sendable () -> Bool,
    passphrase: @escaping @Sendable (_ wasWrong: Bool) async -> Answer
  ) {
    self.canAsk = canAsk
    self.passphrase = passphrase
  }

  /// The value for a machine where the user cannot be asked.
  package static var nobody: Asking {
    Asking(canAsk: { false }, passphrase: { _ in .dismissed })
  }
}

/// A prompt of a program, which asks the user to unlock kist.
struct Prompt {
  let client: String
  /// The paths to give back once kist is unlocked.
  let paths: [String]
  var isShown = false
}

extension SecretService {
  /// Returns the given paths of what is unlocked, and the path of a prompt for the others.
  ///
  /// A path of the result is the one that the program gave, even if it is an alias.
  package func unlock(
    _ paths: [String], for client: String
  ) async throws(ServiceError) -> (unlocked: [String], prompt: String) {
    if try await isOpen() {
      try await ready()
      return (paths.flatMap { opened($0) }, ObjectPath.none)
    }
    let unlocked = paths.filter { isInMemory($0) && exists($0) }
    let locked = paths.filter { !isInMemory($0) && mayExist($0) }
    if locked.isEmpty { return (unlocked, ObjectPath.none) }
    return (unlocked, ObjectPath.prompt(try makePrompt(for: locked, client)).path)
  }

  /// Locks kist if any of the paths is of kistd, and returns the given paths of what is locked.
  package func lock(_ paths: [String]) async throws(ServiceError) -> [String] {
    let locked = paths.filter { !isInMemory($0) && mayExist($0) }
    if locked.isEmpty { return [] }
    let status = try await perform { () throws(StorageError) in try await functions.access.status()
    }
    // Any call would open it again.
    guard status.unlocksWith != .keyFile, status.unlocksWith != nil else { return [] }
    let after = try await perform { () throws(StorageError) in try await functions.access.lock() }
    guard after.isLocked else { return [] }
    noteLocked(.locked("the storage is locked"))
    return locked
  }

  /// Returns whether kist is unlocked, opening it if that needs no user.
  func isOpen() async throws(ServiceError) -> Bool {
    do throws(StorageError) { return try await opensUnattended() } catch {
      throw ServiceError(error)
    }
  }

  private func isInMemory(_ path: String) -> Bool {
    switch object(at: path) {
    case .collection(Collection.session)?, .item(collection: Collection.session, item: _)?: true
    default: false
    }
  }

  /// Returns whether a path is of an object; while kist is locked, whether it can be of one.
  private func mayExist(_ path: String) -> Bool {
    switch object(at: path) {
    case .collection(let collection)?: collections[collection] != nil
    case .item(let collection, let item)?:
      isLocked
        ? collections[collection] != nil : index.place(ofItem: item, in: collection) != nil
    default: false
    }
  }

  private func exists(_ path: String) -> Bool {
    guard case .item(Collection.session, let item)? = object(at: path) else {
      return mayExist(path)
    }
    return memory[item] != nil
  }

  /// Returns what a path leads to once kist is unlocked: itself, or what a search finds.
  private func opened(_ path: String) -> [String] {
    if case .item(_, let item)? = object(at: path), let search = lockedSearches[item] {
      return storedPaths(search.attributes, in: search.collection)
    }
    return exists(path) ? [path] : []
  }

  // MARK: - Prompts

  /// Makes a prompt and returns its identifier.
  func makePrompt(for paths: [String], _ client: String) throws(ServiceError) -> String {
    try checkPresence(of: client)
    guard prompts.values.count(where: { $0.client == client }) < ServiceLimits.prompts else {
      throw .overLimit("a program may have \(ServiceLimits.prompts) prompts; dismiss one")
    }
    promptsMade += 1
    let identifier = "p\(promptsMade)"
    prompts[identifier] = Prompt(client: client, paths: paths)
    return identifier
  }

  func prompt(_ identifier: String, of client: String) throws(ServiceError) -> Prompt {
    guard let prompt = prompts[identifier], prompt.client == client else { throw .noSuchObject }
    return prompt
  }

  /// Marks a prompt as shown; `showPrompt` must follow.
  package func beginPrompt(_ identifier: String, for client: String) throws(ServiceError) {
    guard !(try prompt(identifier, of: client)).isShown else {
      throw .alreadyExists("the prompt is shown already")
    }
    prompts[identifier]?.isShown = true
  }

  /// Asks the user, and reports the end of the prompt.
  package func showPrompt(_ identifier: String) async {
    var wasWrong = false
    while prompts[identifier] != nil {
      if (try? await opensUnattended()) == true { return await complete(identifier) }
      switch await functions.asking.passphrase(wasWrong) {
      case .dismissed: return end(identifier, isDismissed: true, [])
      case .unlocked: continue
      case .passphrase(let passphrase):
        // The user may have dismissed the prompt in the program meanwhile.
        guard prompts[identifier] != nil else { return }
        do throws(StorageError) { _ = try await functions.access.unlock(passphrase) } catch {
          guard error.code == .wrongPassphrase else {
            return end(identifier, isDismissed: true, [])
          }
          wasWrong = true
        }
      }
    }
  }

  private func complete(_ identifier: String) async {
    do throws(ServiceError) { try await ready() } catch {
      return end(identifier, isDismissed: true, [])
    }
    end(identifier, isDismissed: false, prompts[identifier]?.paths.flatMap { opened($0) } ?? [])
  }

  private func end(_ identifier: String, isDismissed: Bool, _ paths: [String]) {
    guard let prompt = prompts.removeValue(forKey: identifier) else { return }
    emit(
      .completed(
        prompt: ObjectPath.prompt(identifier).path, client: prompt.client,
        isDismissed: isDismissed, .paths(paths)))
  }

  /// Ends a prompt without an answer of the user.
  package func dismissPrompt(_ identifier: String, for client: String) throws(ServiceError) {
    _ = try prompt(identifier, of: client)
    end(identifier, isDismissed: true, [])
  }

  // MARK: - Sessions

  /// Opens a session and returns the output of the algorithm, and its path.
  package func openSession(
    _ algorithm: Algorithm, for client: String
  ) throws(ServiceError) -> (output: [UInt8]?, path: String) {
    let (output, identifier) = try sessions.open(algorithm, for: client)
    return (output, ObjectPath.session(identifier).path)
  }

  package func closeSession(_ identifier: String, of client: String) throws(ServiceError) {
    try sessions.close(identifier, of: client)
  }
}
