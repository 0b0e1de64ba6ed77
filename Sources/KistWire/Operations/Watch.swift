package import KistCore
package import KistJSON

/// Starts a watch stream on a connection.
///
/// Its lines follow the reply, and kistd answers no further request on this connection.
package typealias RegisterStream = @Sendable (@escaping NextLine) -> Void

extension Operation where Input == WatchRequest, Output == Revision? {
  /// Reports each change from now on.
  static var watch: Self {
    Operation(
      name: "watch", keys: ["service"],
      loggedNames: { RequestedNames(service: $0.service, account: nil) }, request: watchRequest,
      reply: positionMember)
  }

  /// Returns the server's function, which starts a stream and replies with the position.
  ///
  /// The position is the revision of the latest change in the whole storage.
  func served(by watch: WatchCredentials, _ registerStream: @escaping RegisterStream)
    -> NotedExchange
  {
    served { request throws(StorageError) in
      let changes = try await watch.begin(request)
      registerStream { () throws(StorageError) in
        try await changes.makeAsyncIterator().next().map { Line($0.json()) }
      }
      return changes.position
    }
  }
}

/// Sends a line over a new connection; returns the reply, and a function that returns the next line
/// at each call.
package typealias WatchExchange =
  @Sendable (Line) async throws(StorageError) -> (reply: Line, next: NextLine)

extension WatchCredentials {
  /// Returns the function that starts watches at a kistd.
  ///
  /// Each watch uses its own connection.
  package static func remote(over openWatch: @escaping WatchExchange) -> WatchCredentials {
    WatchCredentials { request throws(StorageError) in
      let operation = Operation.watch
      let (reply, next) = try await openWatch(requestLine(operation.encodeRequest(request)))
      let position = try operation.decodeReply(readReply(reply, to: operation.name))
      return CredentialChanges(position: position) { () throws(StorageError) in
        try await next().map { line throws(StorageError) in try change(in: line) }
      }
    }
  }
}

/// Returns the change in a line.
///
/// If the line contains an error, the watch has ended, and this function throws the error.
private func change(in line: Line) throws(StorageError) -> CredentialChange {
  let failure: StorageError
  do throws(JSONError) {
    let object = try JSONObject(line.content)
    guard let error = object["error"] else { return try CredentialChange(object) }
    failure = try StorageError(error.object())
  } catch { throw .malformedReply(error) }
  throw failure
}

private let watchRequest = Codec<WatchRequest>(
  read: { object throws(JSONError) in WatchRequest(service: try object["service"]?.string()) },
  write: { request, writer in writer.member("service", request.service) })

private let positionMember = Codec<Revision?>(
  read: { object throws(JSONError) in try object["position"]?.revision() },
  write: { position, writer in writer.member("position", position?.rawValue) })

extension CredentialChange: JSONMembers {
  /// Writes the members of the line for a change.
  package func write(to writer: inout JSONWriter) {
    writer.member("event", event)
    if let key { writer.members(of: key) }
    writer.member("revision", revision?.rawValue)
  }

  /// The event's name in the protocol.
  package var event: String {
    switch self {
    case .saved: "saved"
    case .deleted: "deleted"
    case .reset: "reset"
    }
  }

  /// Reads a change.
  ///
  /// An unknown event, from a newer kistd, is read as `reset`: changes may be missing, so the
  /// client must read the credentials again.
  init(_ object: JSONObject) throws(JSONError) {
    switch try object.required("event").string() {
    case "saved":
      self = .saved(try object.credentialKey(), try object.required("revision").revision())
    case "deleted":
      self = .deleted(try object.credentialKey(), try object["revision"]?.revision())
    default: self = .reset
    }
  }
}
