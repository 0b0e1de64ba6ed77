internal import KistCore

/// A prompt of a program, which asks the user.
struct Prompt {
  /// What happens once the user agrees.
  enum Purpose {
    /// kist is unlocked, and the prompt gives back what these paths lead to.
    case unlock([String])
    /// The collection is deleted with its items.
    case delete(collection: String)

    /// The bytes of its paths.
    var size: Int {
      guard case .unlock(let paths) = self else { return 0 }
      return paths.reduce(0) { $0 + $1.utf8.count }
    }
  }

  let client: String
  let purpose: Purpose
  /// When the program showed it.
  var shownAt: ContinuousClock.Instant?
  var window = Window("")
  /// Ends the task that shows the prompt.
  var stop: @Sendable () -> Void = {}
  /// Whether the user agreed to a deletion, which then goes on without the program.
  var isConfirmed = false
}

extension SecretService {
  /// Makes a prompt and returns its identifier.
  func makePrompt(
    to purpose: Prompt.Purpose, for client: String
  ) throws(ServiceError) -> String {
    try checkPresence(of: client)
    guard prompts.values.count(where: { $0.client == client }) < ServiceLimits.prompts else {
      throw .overLimit("a program may have \(ServiceLimits.prompts) prompts; dismiss one")
    }
    guard purpose.size <= ServiceLimits.promptBytes else {
      throw .overLimit(
        "the paths of a prompt may have \(ServiceLimits.promptBytes) bytes; unlock fewer at once")
    }
    promptsMade += 1
    let identifier = "p\(promptsMade)"
    prompts[identifier] = Prompt(client: client, purpose: purpose)
    return identifier
  }

  func prompt(_ identifier: String, of client: String) throws(ServiceError) -> Prompt {
    guard let prompt = prompts[identifier], prompt.client == client else { throw .noSuchObject }
    return prompt
  }

  /// Marks a prompt as shown; `showPrompt` must follow.
  ///
  /// - Parameter window: The window of the program, as it names it.
  package func beginPrompt(
    _ identifier: String, for client: String, window: String
  ) throws(ServiceError) {
    guard try prompt(identifier, of: client).shownAt == nil else {
      throw .alreadyExists("the prompt is shown already")
    }
    prompts[identifier]?.shownAt = .now
    if window.utf8.count <= ServiceLimits.windowBytes {
      prompts[identifier]?.window = Window(window)
    }
  }

  /// Keeps what ends the task of `showPrompt`, for a prompt that is dismissed or whose program ends.
  package func keep(_ stop: @escaping @Sendable () -> Void, of identifier: String) {
    if prompts[identifier]?.isConfirmed == false { prompts[identifier]?.stop = stop }
  }

  /// Asks the user, and reports the end of the prompt.
  ///
  /// Only one prompt asks at a time; the others wait.
  package func showPrompt(_ identifier: String) async {
    guard await takeTurn(identifier) else { return }
    defer { passTurn() }
    guard let prompt = prompts[identifier] else { return }
    switch prompt.purpose {
    case .unlock(let paths): await askForPassphrase(prompt, identifier, paths)
    case .delete(let collection): await askForDeletion(prompt, identifier, collection)
    }
  }

  private func askForPassphrase(_ prompt: Prompt, _ identifier: String, _ paths: [String]) async {
    var wrong = 0
    while prompts[identifier] != nil {
      do throws(StorageError) {
        if try await opensUnattended() { return await complete(identifier, paths) }
      } catch  where error.code == .corrupt {
        return end(identifier, isDismissed: true)
      } catch {}
      guard wrong < ServiceLimits.passphrases else { return end(identifier, isDismissed: true) }
      let question = Asking.PassphraseQuestion(
        wasWrong: wrong > 0, window: prompt.window, shownAt: prompt.shownAt ?? .now)
      switch await functions.asking.passphrase(question) {
      case .dismissed: return end(identifier, isDismissed: true)
      case .unlocked: continue
      case .passphrase(let passphrase):
        // The user may have dismissed the prompt in the program meanwhile.
        guard prompts[identifier] != nil else { return }
        do throws(StorageError) { _ = try await functions.access.unlock(passphrase) } catch {
          guard error.code == .wrongPassphrase else { return end(identifier, isDismissed: true) }
          wrong += 1
        }
      }
    }
  }

  private func complete(_ identifier: String, _ paths: [String]) async {
    do throws(ServiceError) { try await ready() } catch {
      return end(identifier, isDismissed: true)
    }
    end(identifier, isDismissed: false, paths.flatMap { opened($0) })
  }

  /// Deletes a collection once the user confirmed it.
  ///
  /// If other items were added meanwhile, the user is asked again.
  private func askForDeletion(_ prompt: Prompt, _ identifier: String, _ collection: String) async {
    do throws(ServiceError) {
      while prompts[identifier] != nil {
        try await ready()
        // Another program may have deleted it.
        guard let label = collections[collection]?.label else {
          return end(identifier, isDismissed: false)
        }
        let items = index.find([:], in: collection).map { index.key(at: $0) }
        let confirmation = Asking.Confirmation(
          text: "Delete a collection with all its credentials? This cannot be undone.",
          details: "Credentials: \(items.count)\nCollection: \(visible(label))", button: "Delete",
          window: prompt.window)
        let isConfirmed = await functions.asking.confirm(confirmation)
        guard prompts[identifier] != nil else { return }
        guard isConfirmed else { return end(identifier, isDismissed: true) }
        // A deletion that stops halfway would leave a part of the items.
        prompts[identifier]?.stop = {}
        prompts[identifier]?.isConfirmed = true
        if try await delete(collection, with: items) {
          return end(identifier, isDismissed: false)
        }
      }
    } catch {
      // The result of a prompt has no error.
      await functions.asking.report("The collection was not deleted: \(error.message).")
      end(identifier, isDismissed: true)
    }
  }

  private func end(_ identifier: String, isDismissed: Bool, _ paths: [String] = []) {
    guard let prompt = prompts[identifier] else { return }
    remove(identifier)
    // The types are fixed: some programs crash if a dismissed prompt has another one.
    let result: PropertyValue =
      switch prompt.purpose {
      case .unlock: .paths(paths)
      case .delete: .text("")
      }
    emit(
      .completed(
        prompt: ObjectPath.prompt(identifier).path, client: prompt.client,
        isDismissed: isDismissed, result))
  }

  /// Ends a prompt without an answer of the user.
  package func dismissPrompt(_ identifier: String, for client: String) throws(ServiceError) {
    guard !(try prompt(identifier, of: client).isConfirmed) else {
      throw .denied("the user has agreed to the deletion; it cannot be stopped")
    }
    end(identifier, isDismissed: true)
  }

  /// Removes a prompt, and ends the task that shows it.
  func remove(_ identifier: String) {
    prompts.removeValue(forKey: identifier)?.stop()
    if let place = waitingPrompts.firstIndex(where: { $0.prompt == identifier }) {
      waitingPrompts.remove(at: place).turn.resume(returning: false)
    }
  }

  // MARK: - Turns

  /// Waits until no other prompt asks the user; returns `false` if the prompt ended before.
  private func takeTurn(_ identifier: String) async -> Bool {
    if askingPrompt == nil {
      askingPrompt = identifier
      return true
    }
    return await withCheckedContinuation { waitingPrompts.append((identifier, $0)) }
  }

  private func passTurn() {
    askingPrompt = nil
    if waitingPrompts.isEmpty { return }
    let next = waitingPrompts.removeFirst()
    askingPrompt = next.prompt
    next.turn.resume(returning: true)
  }
}
