/// One connection of a client through a proxy, served by one thread.
struct BusProxyConnection: Hashable, Sendable {
  /// The action at a call, before it is forwarded or after its reply has arrived.
  enum Stop {
    case before(@Sendable () -> Void)
    case after(@Sendable () -> Void)
  }

  let client: BusSocket
  let bus: BusSocket

  /// Forwards everything in both directions until one side ends, or both are cut.
  func handOn(
    stoppingAt stop: (_ member: String) -> Stop?, isCalling: () -> Bool, isCut: () -> Bool
  ) {
    guard authenticate() else { return }
    // No program calls a client before the bus has answered its Hello.
    var isOnBus = false
    while !isCut() {
      if isOnBus, isCalling() {
        guard client.write(BusMessage.pings) else { return }
        guard BusSocket.isReadable(client, bus) else { continue }
      }
      let isFromClient = BusSocket.firstReadable(client, bus) == client
      let isServed = isFromClient ? handOnToBus(stoppingAt: stop, isCut: isCut) : handOnToClient()
      guard isServed else { return }
      if !isFromClient { isOnBus = true }
    }
  }

  func shut() {
    client.shut()
    bus.shut()
  }

  func close() {
    client.close()
    bus.close()
  }

  /// Forwards the lines before the messages (D-Bus specification, "Authentication Protocol").
  ///
  /// Each line of the client has one answer, except the last.
  private func authenticate() -> Bool {
    while let line = client.readLine(), bus.write(line) {
      if line.elementsEqual("BEGIN\r\n".utf8) { return true }
      guard let reply = bus.readLine(), client.write(reply) else { return false }
    }
    return false
  }

  private func handOnToClient() -> Bool {
    guard let message = bus.readMessage() else { return false }
    return client.write(message.bytes)
  }

  private func handOnToBus(stoppingAt stop: (String) -> Stop?, isCut: () -> Bool) -> Bool {
    guard let message = client.readMessage() else { return false }
    switch message.isCall ? stop(message.member ?? "") : nil {
    case .before(let action):
      action()
      return !isCut() && bus.write(message.bytes)
    case .after(let action):
      guard bus.write(message.bytes) else { return false }
      guard message.expectsReply else {
        action()
        return true
      }
      while let answer = bus.readMessage() {
        if answer.replySerial == message.serial {
          action()
          return !isCut() && client.write(answer.bytes)
        }
        guard client.write(answer.bytes) else { return false }
      }
      return false
    case nil: return bus.write(message.bytes)
    }
  }
}
