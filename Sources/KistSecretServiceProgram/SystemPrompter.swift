internal import KistBus
internal import KistCore
internal import KistSecretService

/// The prompter of the desktop, which asks the user in a window of its own: `gcr-prompter`, or
/// GNOME Shell.
///
/// It calls the object of a prompt on this connection, and is called back.
struct SystemPrompter {
  private static let name = "org.gnome.keyring.SystemPrompter"
  private static let interface = "org.gnome.keyring.internal.Prompter"

  let bus: Bus
  /// How long it may wait for the user.
  var patience: Duration = .seconds(300)

  /// Whether the prompter runs, or the bus can start it on a display.
  nonisolated(nonsending) func isAvailable(hasDisplay: Bool) async -> Bool {
    let owned = busCall("NameHasOwner")
    owned.write(Self.name)
    if (try? await bus.reply(to: owned).readBoolean()) == true { return true }
    guard hasDisplay else { return false }
    let names = try? await bus.reply(to: busCall("ListActivatableNames")).readStrings()
    return names?.contains(Self.name) == true
  }

  private func busCall(_ member: String) -> BusMessage {
    bus.makeCall(
      to: "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member)
  }

  /// Asks the user; withdraws the question when the task is cancelled.
  nonisolated(nonsending) func ask(_ dialog: Dialog) async -> DialogAnswer {
    let inbox = Inbox()
    let path = "/io/kist/prompt/p\(UInt64.random(in: .min ... .max))"
    bus.serve(path) { [bus] call in
      if !inbox.add(call) {
        let error = ServiceError.overLimit("too many calls of the prompter wait")
        bus.sendUnlessCongested(call.reply(BusError(error)))
      }
    }
    defer { bus.stopServing(path) }
    do throws(BusError) {
      let prompter = try await bus.reply(to: call("BeginPrompting", path)).sender
      defer { bus.send(call("StopPrompting", path)) }
      return try await answer(to: dialog, path, prompter, inbox)
    } catch { return .failed }
  }

  private func call(_ member: String, _ path: String) -> BusMessage {
    let call = bus.makeCall(
      to: Self.name, "/org/gnome/keyring/Prompter", Self.interface, member)
    call.write(path: path)
    return call
  }

  private nonisolated(nonsending) func answer(
    to dialog: Dialog, _ path: String, _ prompter: String, _ inbox: Inbox
  ) async throws(BusError) -> DialogAnswer {
    let end = ContinuousClock.now + patience
    var exchange: SecretExchange?
    while .now < end, !Task.isCancelled {
      guard !inbox.messages.isEmpty else {
        await bus.sleep(for: .milliseconds(50))
        continue
      }
      let call = inbox.messages.removeFirst()
      guard call.sender == prompter, call.interface == Self.interface + ".Callback" else {
        bus.send(
          call.reply(BusError("org.freedesktop.DBus.Error.AccessDenied", "only the prompter")))
        continue
      }
      bus.send(call.reply())
      guard call.member == "PromptReady", call.signature == "sa{sv}s" else { return .dismissed }
      let response = try call.readString()
      try call.skip("a{sv}")
      let received = try call.readString()
      guard let begun = exchange else {
        guard let new = SecretExchange(received) else { return .failed }
        exchange = new
        let question = self.call("PerformPrompt", path)
        dialog.write(to: question, new.message)
        _ = try await bus.reply(to: question)
        continue
      }
      guard response == "yes" else { return .dismissed }
      guard case .passphrase = dialog.kind else { return .confirmed }
      return begun.passphrase(in: received).map(DialogAnswer.passphrase) ?? .failed
    }
    return .dismissed
  }
}

/// The calls of the prompter that wait.
final class Inbox {
  /// A prompter waits for the reply to each call.
  static let calls = 8
  /// Much more than a passphrase.
  static let callBytes = 64 << 10

  var messages: [BusMessage] = []

  /// Adds a call; returns `false` if too many wait, or if it is too large.
  func add(_ call: BusMessage) -> Bool {
    guard messages.count < Self.calls, let size = try? call.size(countingUpTo: Self.callBytes),
      size < Self.callBytes
    else { return false }
    messages.append(call)
    return true
  }
}

extension Dialog {
  /// Writes the arguments of PerformPrompt.
  fileprivate func write(to call: BusMessage, _ exchange: String) {
    var properties = [("title", "kist"), ("caller-window", window)]
    // The first line is shown large.
    let lines = text.split(separator: "\n", maxSplits: 1).map(String.init)
    properties.append(("message", lines[0]))
    properties.append(("description", lines.count > 1 ? lines[1] : ""))
    switch kind {
    case .passphrase(let wasWrong):
      call.write("password")
      properties.append(("warning", wasWrong ? "The passphrase is wrong. Try again." : ""))
    case .confirmation(let button):
      call.write("confirm")
      properties.append(("continue-label", button))
    case .message: call.write("confirm")
    }
    call.writeArray(of: "{sv}") {
      for (name, value) in properties {
        call.writeEntry(of: "sv") {
          call.write(name)
          call.writeVariant(of: "s") { call.write(value) }
        }
      }
    }
    call.write(exchange)
  }
}
