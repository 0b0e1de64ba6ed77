package import KistCore
package import KistJSON

/// A request or a reply: the name of an operation and the members of one JSON object.
///
/// It holds either what was read from a line or what a codec wrote, so that neither end encodes or
/// reads anything twice; each can be asked for as the other.
package struct Message: Sendable {
  /// The operation that is asked for, or replied to.
  package let operation: String
  /// Where what a request names is noted, if anywhere.
  let notes: RequestNotes?
  private let content: Content

  private enum Content { case read(JSONObject), written(Secret) }

  /// What was read, with the members that make it a line among its own.
  package init(operation: String, read object: JSONObject, notes: RequestNotes? = nil) {
    self.operation = operation
    self.notes = notes
    content = .read(object)
  }

  /// What a codec writes.
  package init(
    operation: String, writing members: (inout JSONWriter) throws(StorageError) -> Void
  ) throws(StorageError) {
    self.operation = operation
    notes = nil
    content = .written(try JSONWriter.object(members))
  }

  /// The members as an object to read from.
  package func object() throws(JSONError) -> JSONObject {
    switch content {
    case .read(let object): object
    case .written(let text): try JSONObject(text)
    }
  }

  /// The members that make a message a line; no operation has a key of one of these names.
  package static let envelope: [StaticString] = ["op", "ok", "id"]

  /// Writes the operation's own members.
  func write(to writer: inout JSONWriter) {
    switch content {
    case .read(let object): writer.members(read: object, besides: Self.envelope)
    case .written(let text): writer.members(written: text)
    }
  }

  /// About how many bytes it takes to write, without the envelope; exact for what was written.
  var count: Int {
    switch content {
    case .read(let object): object.count
    case .written(let text): text.count
    }
  }
}

/// What answers one message with one message: a storage behind its operations, or a connection.
package typealias Exchange = @Sendable (Message) async throws(StorageError) -> Message
