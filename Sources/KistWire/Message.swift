package import KistCore
package import KistJSON

/// A request or a reply: the name of an operation and the members of one JSON object.
///
/// It holds either what was read from a line or what a codec wrote behind the member that makes it a
/// line, so that neither end encodes or reads anything twice; each can be asked for as the other.
package struct Message: Sendable {
  /// The operation that is asked for, or replied to.
  package let operation: String
  /// Where what a request names is noted, if anywhere.
  let notes: RequestNotes?
  private let content: Content

  private enum Content {
    case read(JSONObject)
    /// The text of an object; what it begins with up to this offset makes it a line.
    case written(Secret, head: Int)
  }

  /// What was read, with the members that make it a line among its own.
  package init(operation: String, read object: JSONObject, notes: RequestNotes? = nil) {
    self.operation = operation
    self.notes = notes
    content = .read(object)
  }

  /// A request that a codec writes.
  package init(
    request operation: String, writing members: (inout JSONWriter) throws(StorageError) -> Void
  ) throws(StorageError) {
    try self.init(operation, head: { $0.member("op", operation) }, members)
  }

  /// A reply that a codec writes.
  package init(
    replyTo operation: String, writing members: (inout JSONWriter) throws(StorageError) -> Void
  ) throws(StorageError) {
    try self.init(operation, head: { $0.member("ok", true) }, members)
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
    self.operation = operation
    notes = nil
    content = .written(text, head: headCount)
  }

  /// The members as an object to read from.
  package func object() throws(JSONError) -> JSONObject {
    switch content {
    case .read(let object): object
    case .written(let text, _): try JSONObject(text)
    }
  }

  /// The members that make a message a line; no operation has a key of one of these names.
  package static let envelope: [StaticString] = ["op", "ok", "id"]

  /// The text of the line that asks for it.
  func requestText() -> Secret {
    if case .written(let text, _) = content { return text }
    return JSONWriter.object(capacity: count + 64) { writer in
      writer.member("op", operation)
      write(to: &writer)
    }
  }

  /// The text of the line that replies to a request with this id, or with none.
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
    case .read(let object): writer.members(read: object, besides: Self.envelope)
    case .written(let text, let head): writer.members(written: text, after: head)
    }
  }

  /// About how many bytes it takes to write.
  var count: Int {
    switch content {
    case .read(let object): object.count
    case .written(let text, _): text.count
    }
  }
}

/// What answers one message with one message: a storage behind its operations, or a connection.
package typealias Exchange = @Sendable (Message) async throws(StorageError) -> Message
