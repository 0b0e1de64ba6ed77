package import KistCore
internal import KistJSON

/// Takes a function that returns the lines to send after the reply.
///
/// Nothing else is answered from then on.
package typealias Follow = @Sendable (@escaping NextLine) -> Void

/// Returns the server's end of `watch`: carries out the request, then sends its changes after the
/// reply.
///
/// Throws `unknownOperation` for any other operation.
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

/// Sends a line over a connection of its own; returns the reply and the function that waits for
/// later lines.
package typealias Conversation =
  @Sendable (Line) async throws(StorageError) -> (reply: Line, next: NextLine)

extension WatchCredentials {
  /// Returns watches of the storage at the other end of a conversation.
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

/// Returns the change in a line; throws the error that ends the watch if the line contains one.
private func change(in line: Line) throws(StorageError) -> CredentialChange {
  let failure: StorageError
  do throws(JSONError) {
    let object = try JSONObject(line.content)
    guard let error = object["error"] else { return try CredentialChange(object) }
    failure = try StorageError(error.object())
  } catch { throw .malformedReply(error) }
  throw failure
}
