package import KistCore
package import KistJSON

/// One operation of the protocol.
///
/// The server and the client use the same definition.
package struct Operation<Input, Output>: Sendable {
  /// A function that performs the operation.
  package typealias Run = @Sendable (Input) async throws(StorageError) -> Output

  package let name: String
  let effect: OperationEffect
  /// All keys that a request may have, including `op` and `id`.
  let keys: [StaticString]
  /// Returns the names in a request that the audit log records; `nil` if it records none.
  let loggedNames: (@Sendable (Input) -> RequestedNames)?
  let request: Codec<Input>
  let reply: Codec<Output>

  package init(
    name: String, effect: OperationEffect = .none, keys: [StaticString],
    loggedNames: (@Sendable (Input) -> RequestedNames)? = nil, request: Codec<Input>,
    reply: Codec<Output>
  ) {
    self.name = name
    self.effect = effect
    self.keys = keys + ["op", "id", "onBehalfOf"]
    self.loggedNames = loggedNames
    self.request = request
    self.reply = reply
  }

  /// Returns the server's function: it decodes the request, calls `run`, and encodes the reply.
  package func served(by run: @escaping Run) -> NotedExchange {
    { request, note throws(StorageError) in
      do throws(StorageError) {
        return try encodeReply(await run(decodeRequest(request, noting: &note)))
      } catch { throw withOutcome(error) }
    }
  }

  /// Returns the client's function: it encodes the request, sends it, and decodes the reply.
  package func clientFunction(over exchange: @escaping Exchange) -> Run {
    { input throws(StorageError) in
      do throws(StorageError) {
        return try decodeReply(await exchange(encodeRequest(input)))
      } catch { throw withOutcome(error) }
    }
  }

  /// Returns an error of this operation; the error of a change reports an outcome.
  ///
  /// If the error has none, it is the outcome that the code of the error implies.
  private func withOutcome(_ error: StorageError) -> StorageError {
    effect == .change ? error.withOutcome(error.code.outcome) : error
  }

  /// Returns the request for an input.
  package func encodeRequest(_ input: Input) throws(StorageError) -> Message {
    try Message(request: name) { (writer) throws(StorageError) in
      try request.write(input, &writer)
    }
  }

  /// Returns the input in a request, and adds the operation and the names to the note.
  func decodeRequest(
    _ message: Message, noting note: inout RequestNotes.Note
  ) throws(StorageError) -> Input {
    note.operation = name
    do throws(JSONError) {
      let object = try message.object()
      do throws(JSONError) {
        try object.refuseKeys(except: keys)
        let input = try request.read(object)
        if let loggedNames { note.add(loggedNames(input)) }
        return input
      } catch {
        if loggedNames != nil, let names = try? object.requestedNames() { note.add(names) }
        throw error
      }
    } catch { throw .badRequest(error.description) }
  }

  func encodeReply(_ output: Output) throws(StorageError) -> Message {
    try Message(replyTo: name) { (writer) throws(StorageError) in
      try reply.write(output, &writer)
    }
  }

  /// Returns the output in a reply.
  package func decodeReply(_ message: Message) throws(StorageError) -> Output {
    do throws(JSONError) { return try reply.read(message.object()) } catch {
      throw .malformedReply(error)
    }
  }
}

extension Operation where Input == Void {
  typealias RunWithoutInput = @Sendable () async throws(StorageError) -> Output

  /// Returns the function that a client calls.
  func clientFunction(over exchange: @escaping Exchange) -> RunWithoutInput {
    let call: Run = clientFunction(over: exchange)
    return { () throws(StorageError) in try await call(()) }
  }
}

/// The effect of an operation on kistd and its storage.
package enum OperationEffect: Sendable {
  /// The operation changes no stored data, and neither locks nor unlocks the storage.
  ///
  /// So a client may send the request again. kistd need not perform it if the client has
  /// disconnected.
  case none
  /// The operation begins a backup, asks for its progress, or reads a part of it.
  ///
  /// A client does not send the request again. A repeated request could begin a second backup. Or it
  /// could ask for a backup that kistd has discarded, because its last part was read. kistd need not perform the request if
  /// the client has disconnected.
  case backup
  /// The operation locks or unlocks the storage.
  case access
  /// The operation changes credentials or key slots. So its errors report whether the change was
  /// made (`outcome`).
  case change
}

extension StorageError.Code {
  /// The outcome of a change that failed with this code, if the error itself has no outcome.
  ///
  /// It is `unchanged` for codes that occur only if nothing was changed, and otherwise `unknown`.
  fileprivate var outcome: StorageError.Outcome {
    switch self {
    case .notFound, .conflict, .expired, .locked, .denied, .tooLarge, .corrupt, .wrongPassphrase,
      .busy, .badRequest, .unknownOperation:
      .unchanged
    case .internal, .unavailable, .timeout, .full: .unknown
    }
  }
}

/// A pair of functions: one reads a value from the members of a JSON object, and the other writes
/// the value as members.
package struct Codec<Value>: Sendable {
  let read: @Sendable (JSONObject) throws(JSONError) -> Value
  let write: @Sendable (Value, inout JSONWriter) throws(StorageError) -> Void

  package init(
    read: @escaping @Sendable (JSONObject) throws(JSONError) -> Value,
    write: @escaping @Sendable (Value, inout JSONWriter) throws(StorageError) -> Void
  ) {
    self.read = read
    self.write = write
  }
}

extension Codec<Void> {
  /// The codec of an empty object.
  static var nothing: Self { Self(read: { _ in }, write: { _, _ in }) }
}
