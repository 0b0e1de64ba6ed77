internal import KistCore
internal import KistJSON

/// Returns the client's edge: it turns a message into a line, and an error reply into an error.
package func exchange(over lines: @escaping LineExchange) -> Exchange {
  { request throws(StorageError) in
    let line = try requestLine(request)
    let reply = try await lines(line)
    return try readReply(reply, to: request.operation)
  }
}

func requestLine(_ request: Message) throws(StorageError) -> Line {
  let text = request.requestText()
  guard text.count <= Limits.line else {
    throw StorageError.tooLarge("the request", limit: Limits.line, size: text.count)
      .withOutcome(.unchanged)
  }
  return Line(text)
}

func readReply(_ line: Line, to operation: String) throws(StorageError) -> Message {
  let failure: StorageError
  do throws(JSONError) {
    let reply = try JSONObject(line.content)
    if try reply.required("ok").bool() { return Message(operation: operation, read: reply) }
    failure = try StorageError(reply.required("error").object())
  } catch { throw .malformedReply(error) }
  throw failure
}

extension StorageError {
  /// Returns the error for a reply that cannot be read: a fault of the client or of kistd.
  ///
  /// The outcome of a change is unknown then.
  static func malformedReply(_ error: JSONError) -> StorageError {
    StorageError(
      .internal, "the reply does not follow the protocol: \(error)",
      hint: "compare the versions of the client and of kistd")
  }
}
