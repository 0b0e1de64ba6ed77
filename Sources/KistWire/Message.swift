package import KistCore
package import KistJSON

/// A request or a reply: the name of an operation, and the members of one JSON object.
///
/// A message contains either an object that was read from a line, or the text that a codec wrote.
/// It converts one into the other only when needed.
package struct Message: Sendable {
  /// The name of the operation, in a request and in its reply.
  package let operation: String
  private let content: Content

  private enum Content {
    case read(JSONObject)
    /// The text of an object. Its first member, up to the offset `head`, is `op` or `ok`.
    case written(Secret, head: Int)
  }

  /// Creates a message from an object that was read, including its `op`, `ok` and `id`.
  package init(operation: String, read object: JSONObject) {
    self.operation = operation
    content = .read(object)
  }

  /// Creates a request, whose members a codec writes.
  package init(
    request operation: String, writing members: (inout JSONWriter) throws(StorageError) -> Void
  ) throws(StorageError) {
    try self.init(operation, head: { $0.member("op", operation) }, members)
  }

  /// Creates a reply, whose members a codec writes.
  package init(
    replyTo operation: String, writing members: (inout JSONWriter) throws(StorageError) -> Void
  ) throws(StorageError) {
    try self.init(operation, head: { $0.member("ok", true) }, members)
  }

  private init(operation: String, written text: Secret, head: Int) {
    self.operation = operation
    content = .written(text, head: head)
  }

  private init(
    _ operation: String, head: (inout JSONWriter) -> Void,
    _ members: (inout JSONWriter) throws(StorageError) -> Void
  ) throws(StorageError) {
    var headCount = 0
    let text = try JSONWriter.object { (writer) throws(StorageError) in
      head(&writer)
      headCount = writer.count
      try members(&writer)
    }
    self.init(operation: operation, written: text, head: headCount)
  }

  /// Returns the members as an object.
  package func object() throws(JSONError) -> JSONObject {
    switch content {
    case .read(let object): object
    case .written(let text, _): try JSONObject(text)
    }
  }

  /// The names of the members that messages of any operation may have.
  package static let envelope: [StaticString] = ["op", "ok", "id", "onBehalfOf"]

  /// Returns this request with the member `onBehalfOf`, which names the program for which the
  /// client makes the request.
  ///
  /// kistd cannot check whether this is true.
  func adding(onBehalfOf program: ClaimedProgram) -> Message {
    var head = 0
    let text = JSONWriter.object(capacity: count + 512) { writer in
      writer.member("op", operation)
      head = writer.count
      writer.member("onBehalfOf", object: program)
      write(to: &writer)
    }
    return Message(operation: operation, written: text, head: head)
  }

  /// Returns the text of the request line, with an id if one is given.
  func requestText(id: Int? = nil) -> Secret {
    if id == nil, case .written(let text, _) = content { return text }
    return JSONWriter.object(capacity: count + 64) { writer in
      writer.member("op", operation)
      writer.member("id", id)
      write(to: &writer)
    }
  }

  /// Returns the text of the reply line, with the id of the request if it has one.
  func replyText(id: JSONValue?) -> Secret {
    if id == nil, case .written(let text, _) = content { return text }
    return JSONWriter.object(capacity: count + 256) { writer in
      writer.member("ok", true)
      writer.member("id", id)
      write(to: &writer)
    }
  }

  /// Writes the operation's own members.
  private func write(to writer: inout JSONWriter) {
    switch content {
    case .read(let object): writer.members(read: object, except: Self.envelope)
    case .written(let text, let head): writer.members(written: text, after: head)
    }
  }

  /// The approximate size of the message in bytes when it is written.
  var count: Int {
    switch content {
    case .read(let object): object.count
    case .written(let text, _): text.count
    }
  }
}

/// A function of the client that sends a request over a connection, and returns its reply.
package typealias Exchange = @Sendable (Message) async throws(StorageError) -> Message

/// A function of the server that performs a request, and notes its operation and names.
package typealias NotedExchange =
  @Sendable (Message, inout RequestNotes.Note) async throws(StorageError) -> Message
