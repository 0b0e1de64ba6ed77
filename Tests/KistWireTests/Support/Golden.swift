import KistCore
import KistTesting
import KistWire
import Testing

/// A request and its reply, as lines and as values: what the client must send for the value, what
/// the server must hand to the storage for the line, and the same for the reply.
struct Golden: Sendable, CustomTestStringConvertible {
  let name: String
  let request: String
  let reply: String
  /// Everything that may be called on the server: one function, which checks what it is given.
  var credentials: UserStorage = .unimplemented
  var access: StorageAccess = .unimplemented
  var keySlots: KeySlots = .unimplemented
  var backups: Backups = .unimplemented
  var audit: AuditLookup = noAuditLog
  var watch: WatchCredentials = .unimplemented
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

extension Golden {
  /// What may be called on the server.
  func service() -> Exchange {
    KistWireTests.service(credentials, access, keySlots, backups, audit, watch: watch)
  }

  static func save(
    _ name: String, _ request: String, _ reply: String, _ input: SaveRequest,
    _ output: CredentialSummary
  ) -> Golden {
    var golden = Golden(name: name, request: request, reply: reply, expecting: output) { exchange in
      try await UserStorage.remote(over: exchange).save(input)
    }
    golden.credentials.save = answering(input, with: output)
    return golden
  }

  static func load(
    _ name: String, _ request: String, _ reply: String, _ input: LoadRequest, _ output: Credential
  ) -> Golden {
    var golden = Golden(name: name, request: request, reply: reply, expecting: output) { exchange in
      try await UserStorage.remote(over: exchange).load(input)
    }
    golden.credentials.load = answering(input, with: output)
    return golden
  }

  static func delete(
    _ name: String, _ request: String, _ reply: String, _ input: DeleteRequest, _ output: Bool
  ) -> Golden {
    var golden = Golden(name: name, request: request, reply: reply, expecting: output) { exchange in
      try await UserStorage.remote(over: exchange).delete(input)
    }
    golden.credentials.delete = answering(input, with: output)
    return golden
  }

  static func find(
    _ name: String, _ request: String, _ reply: String, _ input: CredentialQuery,
    _ output: CredentialPage
  ) -> Golden {
    var golden = Golden(name: name, request: request, reply: reply, expecting: output) { exchange in
      try await UserStorage.remote(over: exchange).find(input)
    }
    golden.credentials.find = answering(input, with: output)
    return golden
  }

  static func audit(
    _ name: String, _ request: String, _ reply: String, _ input: AuditQuery, _ output: AuditPage
  ) -> Golden {
    var golden = Golden(name: name, request: request, reply: reply, expecting: output) { exchange in
      try await remoteAuditLog(over: exchange)(input)
    }
    golden.audit = answering(input, with: output)
    return golden
  }

  static func watch(
    _ name: String, _ request: String, _ reply: String, _ service: String?, _ position: Revision?
  ) -> Golden {
    var golden = Golden(name: name, request: request, reply: reply, expecting: position) {
      exchange in
      try await WatchCredentials.remote { line throws(StorageError) in
        (await answer(with: exchange)(line), { () throws(StorageError) in nil })
      }(service: service).position
    }
    golden.watch = WatchCredentials { request throws(StorageError) in
      expect(request.service, is: service)
      return CredentialChanges(position: position) { () throws(StorageError) in nil }
    }
    return golden
  }

  static func status(_ name: String, _ reply: String, _ output: StorageStatus) -> Golden {
    var golden = Golden(name: name, request: #"{"op":"status"}"#, reply: reply, expecting: output) {
      exchange in
      try await StorageAccess.remote(over: exchange).status()
    }
    golden.access.status = { () throws(StorageError) in output }
    return golden
  }

  static func lock(_ name: String, _ reply: String, _ output: StorageStatus) -> Golden {
    var golden = Golden(name: name, request: #"{"op":"lock"}"#, reply: reply, expecting: output) {
      exchange in
      try await StorageAccess.remote(over: exchange).lock()
    }
    golden.access.lock = { () throws(StorageError) in output }
    return golden
  }

  static func unlock(
    _ name: String, _ request: String, _ reply: String, _ input: Secret?, _ output: StorageStatus
  ) -> Golden {
    var golden = Golden(name: name, request: request, reply: reply, expecting: output) { exchange in
      try await StorageAccess.remote(over: exchange).unlock(input)
    }
    golden.access.unlock = answering(input, with: output)
    return golden
  }

  static func slots(_ name: String, _ reply: String, _ output: [KeySlotSummary]) -> Golden {
    var golden = Golden(name: name, request: #"{"op":"slots"}"#, reply: reply, expecting: output) {
      exchange in
      try await KeySlots.remote(over: exchange).list()
    }
    golden.keySlots.list = { () throws(StorageError) in output }
    return golden
  }

  static func slotAdd(
    _ name: String, _ request: String, _ reply: String, _ input: KeySlotAddition,
    _ output: [KeySlotSummary]
  ) -> Golden {
    var golden = Golden(name: name, request: request, reply: reply, expecting: output) { exchange in
      try await KeySlots.remote(over: exchange).add(input)
    }
    golden.keySlots.add = answering(input, with: output)
    return golden
  }

  static func slotRemove(
    _ name: String, _ request: String, _ reply: String, _ input: KeySlotRemoval,
    _ output: [KeySlotSummary]
  ) -> Golden {
    var golden = Golden(name: name, request: request, reply: reply, expecting: output) { exchange in
      try await KeySlots.remote(over: exchange).remove(input)
    }
    golden.keySlots.remove = answering(input, with: output)
    return golden
  }

  static func backup(
    _ name: String, _ request: String, _ reply: String, _ input: Secret, _ output: Backup
  ) -> Golden {
    var golden = Golden(name: name, request: request, reply: reply, expecting: output) { exchange in
      try await Backups.remote(over: exchange).make(input)
    }
    golden.backups.make = answering(input, with: output)
    return golden
  }

  static func backupPart(
    _ name: String, _ request: String, _ reply: String, _ input: BackupPart, _ output: Secret
  ) -> Golden {
    var golden = Golden(name: name, request: request, reply: reply, expecting: output) { exchange in
      try await Backups.remote(over: exchange).read(input)
    }
    golden.backups.read = answering(input, with: output)
    return golden
  }
}

/// A function of a storage that must be called with one value and gives another.
private func answering<Input: Equatable & Sendable, Output: Sendable>(
  _ expected: Input, with output: Output
) -> @Sendable (Input) async throws(StorageError) -> Output {
  { input throws(StorageError) in
    expect(input, is: expected)
    return output
  }
}

private func expect<Value: Equatable>(_ value: Value, is expected: Value) {
  #expect(value == expected)
}
