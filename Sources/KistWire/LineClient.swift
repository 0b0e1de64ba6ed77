internal import KistCore
internal import KistJSON

/// Returns the client's edge: it turns a message into a line, and an error reply into an error.
package func exchange(over lines: @escaping LineExchange) -> Exchange {
  { request throws(StorageError) in
    try readReply(try await lines(requestLine(request)), to: request.operation)
  }
}

/// Repeats a read once when the connection is lost during it; removes the outcome from its errors.
///
/// The connection itself repeats nothing, because it does not know what a line requests.
package func repeatingReads(_ exchange: @escaping Exchange) -> Exchange {
  { request throws(StorageError) in
    guard OperationRow.isRead(request.operation) else { return try await exchange(request) }
    do throws(StorageError) {
      do throws(StorageError) { return try await exchange(request) } catch {
        guard error.code == .unavailable, error.outcome == .unknown else { throw error }
        return try await exchange(request)
      }
    } catch {
      // Only a change has an outcome.
      var error = error
      error.outcome = nil
      throw error
    }
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
  /// Returns the error for a reply that cannot be read; the outcome of a change is unknown then.
  static func malformedReply(_ error: JSONError) -> StorageError {
    StorageError(
      .internal, "the reply does not follow the protocol: \(error)",
      hint: "compare the versions of the client and of kistd")
  }
}
