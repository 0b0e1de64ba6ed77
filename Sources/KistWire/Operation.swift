internal import KistCore
internal import KistJSON

/// One operation of the protocol, defined once for both ends of the socket.
struct Operation<Input, Output>: Sendable {
  typealias Run = @Sendable (Input) async throws(StorageError) -> Output

  let name: String
  /// Whether it changes credentials.
  ///
  /// If so, its errors report the outcome of the change.
  let isChange: Bool
  /// All keys that a request may have, including those of the envelope.
  let keys: [StaticString]
  /// Returns the names in a request, if it has any.
  let names: (@Sendable (Input) -> RequestedNames)?
  let request: Codec<Input>
  let reply: Codec<Output>

  init(
    name: String, isChange: Bool = false, keys: [StaticString],
    names: (@Sendable (Input) -> RequestedNames)? = nil, request: Codec<Input>,
    reply: Codec<Output>
  ) {
    self.name = name
    self.isChange = isChange
    self.keys = keys + ["op", "id"]
    self.names = names
    self.request = request
    self.reply = reply
  }

  /// Returns the server's end: messages answered by a function.
  func served(by run: @escaping Run) -> Exchange {
    isChange ? tellingOutcome(handler(run)) : handler(run)
  }

  /// Returns the client's end: a function that sends messages.
  func called(over exchange: @escaping Exchange) -> Run {
    let call = chain(encodeRequest, exchange, decodeReply)
    return isChange ? tellingOutcome(call) : call
  }

  private func handler(_ run: @escaping Run) -> Exchange { chain(decodeRequest, run, encodeReply) }

  func encodeRequest(_ input: Input) throws(StorageError) -> Message {
    try Message(request: name) { (writer) throws(StorageError) in
      try request.write(input, &writer)
    }
  }

  @Sendable func decodeRequest(_ message: Message) throws(StorageError) -> Input {
    do throws(JSONError) {
      let object = try message.object()
      try object.refuseKeys(besides: keys)
      let input = try request.read(object)
      if let names, let notes = message.notes { notes.add(names: names(input)) }
      return input
    } catch { throw .badRequest(error.description) }
  }

  @Sendable func encodeReply(_ output: Output) throws(StorageError) -> Message {
    try Message(replyTo: name) { (writer) throws(StorageError) in
      try reply.write(output, &writer)
    }
  }

  func decodeReply(_ message: Message) throws(StorageError) -> Output {
    do throws(JSONError) { return try reply.read(message.object()) } catch {
      throw .malformedReply(error)
    }
  }
}
