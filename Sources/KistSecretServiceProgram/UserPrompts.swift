internal import KistBus
internal import KistCore
internal import KistSecretService

/// Asks the user in a window, or waits until the storage was unlocked elsewhere.
///
/// It runs on the thread of the bus.
actor UserPrompts {
  nonisolated let bus: Bus
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe bus.asUnownedSerialExecutor() }
  private let access: StorageAccess
  private let prompter: SystemPrompter
  private let pinentry: Pinentry?
  /// How long a prompt waits for `kist unlock`; `nil` to dismiss it at once.
  private let patience: Duration?
  private let findDisplay: @Sendable (Bus) async -> Display?
  /// What was found last, because each search needs it.
  private var found: (windows: Windows, until: ContinuousClock.Instant)?

  /// What can show a window.
  private struct Windows {
    let hasPrompter: Bool
    /// The display for pinentry, if there is both.
    let display: Display?
  }

  init(
    _ bus: Bus, _ access: StorageAccess, pinentry: Pinentry?, patience: Duration? = nil,
    findDisplay: @escaping @Sendable (Bus) async -> Display? = Display.current
  ) {
    self.bus = bus
    self.access = access
    prompter = SystemPrompter(bus: bus)
    self.pinentry = pinentry
    self.patience = patience
    self.findDisplay = findDisplay
  }

  private func windows() async -> Windows {
    if let found, .now < found.until { return found.windows }
    let display = await findDisplay(bus)
    let windows = Windows(
      hasPrompter: await prompter.isAvailable(hasDisplay: display != nil),
      display: pinentry == nil ? nil : display)
    found = (windows, .now + .seconds(5))
    return windows
  }

  func canAsk() async -> Bool {
    if patience != nil { return true }
    return await canConfirm()
  }

  func canConfirm() async -> Bool {
    let windows = await windows()
    return windows.hasPrompter || windows.display != nil
  }

  func passphrase(_ question: Asking.PassphraseQuestion) async -> Asking.Answer {
    let dialog = Dialog(
      kind: .passphrase(wasWrong: question.wasWrong),
      text: """
        A program wants to use the credentials of kist.
        Enter the passphrase to unlock kist for all programs.
        """, window: question.window.name)
    switch await ask(dialog) {
    case .passphrase(let passphrase): return .passphrase(passphrase)
    case .dismissed, .confirmed: return .dismissed
    case .failed: return await unlockElsewhere(since: question.shownAt)
    }
  }

  func confirm(_ confirmation: Asking.Confirmation) async -> Bool {
    let dialog = Dialog(
      kind: .confirmation(button: confirmation.button),
      text: confirmation.text + "\n" + confirmation.details, window: confirmation.window.name)
    if case .confirmed = await ask(dialog) { return true }
    return false
  }

  func report(_ text: String) async { _ = await ask(Dialog(kind: .message, text: text)) }

  private func ask(_ dialog: Dialog) async -> DialogAnswer {
    let windows = await windows()
    if windows.hasPrompter {
      let answer = await prompter.ask(dialog)
      guard case .failed = answer else { return answer }
    }
    guard let pinentry, let display = windows.display, !Task.isCancelled else { return .failed }
    return await pinentry.ask(dialog, on: display)
  }

  /// Waits for `kist unlock`, in the time that a prompt has.
  private func unlockElsewhere(since shownAt: ContinuousClock.Instant) async -> Asking.Answer {
    guard let patience else { return .dismissed }
    while .now < shownAt + patience, !Task.isCancelled {
      await bus.sleep(for: .milliseconds(250))
      if let status = try? await access.status(), !status.isLocked { return .unlocked }
    }
    return .dismissed
  }
}

extension Asking {
  init(_ prompts: UserPrompts) {
    self.init(
      canAsk: { await prompts.canAsk() }, passphrase: { await prompts.passphrase($0) },
      canConfirm: { await prompts.canConfirm() }, confirm: { await prompts.confirm($0) },
      report: { await prompts.report($0) })
  }
}
