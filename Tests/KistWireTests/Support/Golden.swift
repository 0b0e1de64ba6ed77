import KistCore
import KistTesting
import KistWire
import Testing

/// A request and its reply, as lines and as values: what the client must send for the value, what
/// the server must hand to the storage for the line, and the same for the reply.
struct Golden: Sendable, CustomTestStringConvertible {
  typealias Function<Input, Output> = @Sendable (Input) async throws(StorageError) -> Output
  typealias RunWithoutInput<Output> = @Sendable () async throws(StorageError) -> Output

  let name: String
  let request: String
  let reply: String
  /// Everything that may be called on the server: one function, which checks what it is given.
  var server = Endpoints.unimplemented
  /// What the client does, and what it makes of the reply.
  let call: @Sendable (@escaping Exchange) async throws -> Void

  var testDescription: String { name }

  init<Output: Equatable & Sendable>(
    name: String, request: String, reply: String, expecting output: Output,
    call: @escaping @Sendable (@escaping Exchange) async throws -> Output
  ) {
    self.name = name
    self.request = request
    self.reply = reply
    self.call = { exchange in expect(try await call(exchange), is: output) }
  }
}

extension Endpoints {
  static let unimplemented = Endpoints(
    .unimplemented, .unimplemented, .unimplemented, .unimplemented, watch: .unimplemented,
    hello: { () throws(StorageError) in .stub })

  /// Returns the functions that are served at the other end of an exchange.
  static func called(over exchange: @escaping Exchange) -> Endpoints {
    .remote(over: exchange) { line throws(StorageError) in
      (await answer(with: exchange)(line), { () throws(StorageError) in nil })
    }
  }
}

extension Golden {
  /// What may be called on the server.
  func service() -> Exchange { KistWireTests.service(server) }

  /// One function, which is called with one value and gives another.
  static func calling<Input: Equatable & Sendable, Output: Equatable & Sendable>(
    _ function: any WritableKeyPath<Endpoints, Function<Input, Output>> & Sendable,
    _ name: String, _ request: String, _ reply: String, _ input: Input, _ output: Output
  ) -> Golden {
    var golden = Golden(name: name, request: request, reply: reply, expecting: output) { exchange in
      try await Endpoints.called(over: exchange)[keyPath: function](input)
    }
    golden.server[keyPath: function] = { given throws(StorageError) in
      expect(given, is: input)
      return output
    }
    return golden
  }

  /// One function that is called with nothing.
  static func asking<Output: Equatable & Sendable>(
    _ function: any WritableKeyPath<Endpoints, RunWithoutInput<Output>> & Sendable,
    _ name: String, _ request: String, _ reply: String, _ output: Output
  ) -> Golden {
    var golden = Golden(name: name, request: request, reply: reply, expecting: output) { exchange in
      try await Endpoints.called(over: exchange)[keyPath: function]()
    }
    golden.server[keyPath: function] = { () throws(StorageError) in output }
    return golden
  }

  /// A watch, of which the reply is the position alone.
  static func watching(
    _ name: String, _ request: String, _ reply: String, _ service: String?, _ position: Revision?
  ) -> Golden {
    var golden = Golden(name: name, request: request, reply: reply, expecting: position) {
      exchange in
      try await Endpoints.called(over: exchange).watch(service: service).position
    }
    golden.server.watch = WatchCredentials { request throws(StorageError) in
      expect(request.service, is: service)
      return CredentialChanges(position: position) { () throws(StorageError) in nil }
    }
    return golden
  }
}

private func expect<Value: Equatable>(_ value: Value, is expected: Value) {
  #expect(value == expected)
}
