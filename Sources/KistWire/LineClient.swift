internal import KistCore
internal import KistJSON

/// The client's edge, where a message becomes a line and an error reply becomes an error.
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
  /// A reply that cannot be read is a fault of one of the two programs; what it says of a change is
  /// not known.
  static func malformedReply(_ error: JSONError) -> StorageError {
    StorageError(
      .internal, "the reply does not follow the protocol: \(error)",
      hint: "compare the versions of the client and of kistd")
  }
}
