internal import KistBus
internal import KistCore
internal import KistSecretService
internal import KistSystem

extension Interface {
  /// The back end of the Secret portal, for applications in a sandbox.
  static let portal = Interface(
    name: InterfaceName.portal,
    methods: [
      Method(
        "RetrieveSecret",
        [
          Argument("handle", "o"), Argument("app_id", "s"), Argument("fd", "h"),
          Argument("options", "a{sv}"),
        ], returns: [Argument("response", "u"), Argument("results", "a{sv}")]
      ) { service, call in
        let request = try call.message.readPath()
        let application = try call.message.readString()
        let descriptor = try call.message.readDescriptor()
        let answer = try await service.applicationSecret(
          of: application, request: request, for: call.client, stop: call.stop)
        if case .secret(let secret) = answer { try await call.bus?.write(secret, to: descriptor) }
        return call.reply { reply in
          reply.write(answer.response)
          reply.write([Property]())
        }
      }
    ],
    properties: [PropertyType("version", "u")])

  /// A request of the portal that waits for the user.
  static let request = Interface(
    name: InterfaceName.request,
    methods: [
      Method("Close") { service, call in
        guard case .request(let path) = call.object else { throw ServiceError.noSuchObject }
        try service.cancelRequest(path, of: call.client)
        return call.reply()
      }
    ])
}

extension PortalAnswer {
  /// The number for the answer in the interface of the portal.
  fileprivate var response: UInt32 {
    switch self {
    case .secret: 0
    case .cancelled: 1
    case .locked: 2
    }
  }
}

extension Bus {
  /// Writes a secret to a pipe or a socket, and waits at most 10 seconds for its reader.
  fileprivate nonisolated(nonsending) func write(
    _ secret: Secret, to descriptor: CInt
  ) async throws {
    guard let output = OutputWithoutWaiting(descriptor) else {
      throw ServiceError.invalid("the descriptor is not a pipe or a socket")
    }
    let end = ContinuousClock.now + .seconds(10)
    var written = 0
    while written < secret.count {
      let count = secret.withBytes { output.write($0.extracting(written...)) }
      guard let count, count > 0 || .now < end else {
        throw BusError("org.freedesktop.DBus.Error.Failed", "no program reads the secret")
      }
      written += count
      // Nothing reports that the pipe has space: the thread waits for the bus.
      if count == 0 { await sleep(for: .milliseconds(20)) }
    }
  }
}
