package import KistCore
internal import KistJSON

/// Takes what says line after line, to be said once the reply has left; nothing else is answered then.
package typealias Follow = @Sendable (@escaping NextLine) -> Void

/// The server's end of `watch`: carries out the request, and has its changes follow the reply; throws
/// `unknownOperation` at every other.
package func watching(_ watch: WatchCredentials, _ follow: @escaping Follow) -> Exchange {
  let begin = Operation.watch.served { request throws(StorageError) in
    let changes = try await watch.begin(request)
    follow(lines(of: changes))
    return changes.position
  }
  return { request throws(StorageError) in
    let name = Operation.watch.name
    guard request.operation == name else { return try await refuseUnknown(request) }
    request.notes?.add(operation: name)
    return try await begin(request)
  }
}

private func lines(of changes: CredentialChanges) -> NextLine {
  { () throws(StorageError) in
    try await changes.makeAsyncIterator().next().map { Line($0.json()) }
  }
}

/// Sends a line over a connection of its own, and gives the reply and what waits for each line after it.
package typealias Conversation =
  @Sendable (Line) async throws(StorageError) -> (reply: Line, next: NextLine)

extension WatchCredentials {
  /// Watches the storage that is served at the other end of a conversation.
  package static func remote(over converse: @escaping Conversation) -> WatchCredentials {
    WatchCredentials { request throws(StorageError) in
      let operation = Operation.watch
      let (reply, next) = try await converse(requestLine(operation.encodeRequest(request)))
      let position = try operation.decodeReply(readReply(reply, to: operation.name))
      return CredentialChanges(position: position) { () throws(StorageError) in
        try await next().map { line throws(StorageError) in try change(in: line) }
      }
    }
  }
}

/// The change that a line tells of; throws the error that it ends the watch with.
private func change(in line: Line) throws(StorageError) -> CredentialChange {
  let failure: StorageError
  do throws(JSONError) {
    let object = try JSONObject(line.content)
    guard let error = object["error"] else { return try CredentialChange(object) }
    failure = try StorageError(error.object())
  } catch { throw .malformedReply(error) }
  throw failure
}
