package import KistCore
internal import KistJSON

/// The server's edge, where a line becomes a message and an error becomes a reply.
///
/// `id` is echoed whatever happens, as long as it could be read. What is asked, and why it is refused,
/// is noted where there are notes.
package func answer(
  with dispatch: @escaping Dispatch, noting notes: RequestNotes? = nil
) -> @Sendable (Line) async -> Line {
  { line in
    notes?.begin()
    defer { notes?.end() }
    var id: JSONValue?
    do throws(StorageError) {
      let request = try readRequest(line, id: &id, notes)
      let reply = try await (dispatch(request) ?? refuseUnknown)(request)
      return try successLine(reply, id: id)
    } catch {
      notes?.add(failure: error.code)
      return failureLine(error, id: id)
    }
  }
}

extension Line {
  /// The reply to what is not even a line: too long, cut off, or not to be served at all.
  package static func refusal(_ error: StorageError) -> Line {
    failureLine(error.withOutcome(.unchanged), id: nil)
  }
}

/// Until the operation is known, a request is nothing but refused: whatever it was, it changed
/// nothing, and the error says so.
private func readRequest(
  _ line: Line, id: inout JSONValue?, _ notes: RequestNotes?
) throws(StorageError) -> Message {
  do throws(JSONError) {
    let object = try JSONObject(line.content)
    id = try requestID(in: object)
    return Message(operation: try object.required("op").string(), read: object, notes: notes)
  } catch {
    if id == nil { id = try? requestID(in: JSONObject(beforeFaultIn: line.content)) }
    throw StorageError.badRequest(error.description).withOutcome(.unchanged)
  }
}

private func requestID(in object: JSONObject) throws(JSONError) -> JSONValue? {
  guard let id = object["id"] else { return nil }
  let isID = id.isString ? try id.string().utf8.count <= 128 : (try? id.integer()) != nil
  guard isID else {
    throw id.error("must be a string of at most 128 bytes or an integer within ±(2^53−1)")
  }
  return id
}

private func successLine(_ reply: Message, id: JSONValue?) throws(StorageError) -> Line {
  let text = reply.replyText(id: id)
  guard text.count <= Limits.line else {
    throw StorageError(
      .tooLarge, "the reply is \(text.count) bytes long; the limit is \(Limits.line)",
      hint: "ask for a secret with `\"encoding\":\"base64\"`")
  }
  return Line(text)
}

private func failureLine(_ error: StorageError, id: JSONValue?) -> Line {
  Line(
    JSONWriter.object { writer in
      writer.member("ok", false)
      writer.member("id", id)
      writer.member("error") { $0.members(of: error) }
    })
}
