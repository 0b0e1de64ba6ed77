package import KistCore

extension Libsecret {
  /// Returns the provider of the Secret Service, or `nil` if the session bus does not answer.
  ///
  /// It starts no provider, and shows no prompt.
  package static func provider(_ options: Options) async -> KeyringProvider? {
    let keyring = Keyring(options)
    let provider = await keyring.provider()
    await keyring.close()
    return provider
  }
}

extension Keyring {
  fileprivate func provider() async -> KeyringProvider? {
    guard let address = options.busAddress,
      var provider = try? await Self.provider(
        at: address, on: loop, by: Deadline(after: options.deadline))
    else { return nil }
    guard case .other(var running) = provider.owner else { return provider }
    // A provider that refuses to say what it has counts as one that may have items.
    if let count = try? await countItems() {
      (running.items, running.lockedItems) = count
      provider.owner = .other(running)
    }
    return provider
  }

  private static func provider(
    at address: String, on loop: MainLoop, by deadline: Deadline
  ) async throws(BusError) -> KeyringProvider {
    let (name, ownName) = (SecretService.name, SecretService.ownName)
    let bus = try await SessionBus.connect(to: address, on: loop, by: deadline)
    let startable = try await bus.startableNames(by: deadline)
    var provider = KeyringProvider()
    if startable.contains(name) {
      provider.startable = startable.contains(ownName) ? .kist : .other
    }
    if let owner = try await bus.currentOwner(of: name, by: deadline) {
      let pid = try await bus.processIdentifier(of: owner, by: deadline)
      let isKist = try await bus.currentOwner(of: ownName, by: deadline) == owner
      provider.owner = isKist ? .kist(pid: pid) : .other(.init(pid: pid))
    }
    return provider
  }

  private func countItems() async throws(StorageError) -> (Int?, Int?) {
    try await asking { provider in
      var locked = 0
      let open = try await provider.search([:]) { locked += $0.count }
      return (open.count, locked)
    }
  }
}
