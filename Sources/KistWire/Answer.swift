package import KistCore
internal import KistJSON

/// Returns the function with which the server answers a line.
///
/// An answer is a line with a reply or an error. It has the `id` of the request, if kistd could read
/// it. `notes` receives a note of each request, for the audit log. A reply over `lineLimit` bytes
/// becomes the error `tooLarge`.
package func answer(
  with dispatch: @escaping Dispatch, registerStream: @escaping RegisterStream = { _ in },
  noting notes: RequestNotes? = nil, lineLimit: Int = Limits.line
) -> @Sendable (Line) async -> Line {
  { line in
    var note = RequestNotes.Note()
    if let notes { note.start = notes.now() }
    var id: JSONValue?
    let reply: Line
    do throws(StorageError) {
      var claim: ClaimedProgram?
      let request = try readRequest(line, id: &id, claim: &claim)
      if let claim { note.add(claim) }
      reply = try successLine(
        await dispatch(request, registerStream)(request, &note), id: id, limit: lineLimit)
    } catch {
      note.failure = error.code
      reply = failureLine(error, id: id)
    }
    if let notes {
      note.end = notes.now()
      notes.whenAnswered(note)
    }
    return reply
  }
}

extension Line {
  /// Returns the line of an error that is not the answer to a request.
  ///
  /// kistd sends it for a line that is too long or has no end, for a connection that it does not
  /// serve, or at the end of a watch.
  package static func refusal(_ error: StorageError) -> Line {
    failureLine(error.withOutcome(.unchanged), id: nil)
  }
}

/// Reads a request.
///
/// Errors have the outcome `unchanged`, because the operation has not begun.
private func readRequest(
  _ line: Line, id: inout JSONValue?, claim: inout ClaimedProgram?
) throws(StorageError) -> Message {
  do throws(JSONError) {
    let object = try JSONObject(line.content)
    id = try requestID(in: object)
    claim = try object["onBehalfOf"].map { (value) throws(JSONError) in
      try ClaimedProgram(checking: value.object())
    }
    return Message(operation: try object.required("op").string(), read: object)
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

private func successLine(
  _ reply: Message, id: JSONValue?, limit: Int
) throws(StorageError) -> Line {
  let text = reply.replyText(id: id)
  guard text.count <= limit else {
    throw StorageError(
      .tooLarge, "the reply is \(text.count) bytes long; the limit is \(limit)",
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
