package import KistCore
package import KistJSON

/// All operations of one kistd, as functions.
///
/// On the server, these functions call the storage. On the client, they send requests to the
/// server.
package struct Endpoints: Sendable {
  package var credentials: UserStorage
  package var access: StorageAccess
  package var keySlots: KeySlots
  package var backups: Backups
  package var audit: AuditAccess
  package var watch: WatchCredentials
  package var hello: HelloLookup

  package init(
    _ credentials: UserStorage, _ access: StorageAccess, _ keySlots: KeySlots = .none,
    _ backups: Backups = .none, audit: AuditAccess = .none, watch: WatchCredentials = .none,
    hello: @escaping HelloLookup
  ) {
    self.credentials = credentials
    self.access = access
    self.keySlots = keySlots
    self.backups = backups
    self.audit = audit
    self.watch = watch
    self.hello = hello
  }

  /// Makes the server's functions, which call a storage.
  package init(serving storage: OpenStorage, audit: AuditAccess = .none) {
    let hello = Hello(version: KistVersion.current, durability: storage.durability)
    self.init(
      storage.credentials, storage.access, storage.keySlots, storage.backups, audit: audit,
      watch: storage.watch, hello: { () throws(StorageError) in hello })
  }

  /// Returns the client's functions, which send requests over a connection.
  ///
  /// - Parameter openWatch: sends the request of a watch over a new connection.
  package static func remote(
    over exchange: @escaping Exchange,
    _ openWatch: @escaping WatchExchange = { _ throws(StorageError) in
      throw .badRequest("this connection cannot start a watch")
    }
  ) -> Endpoints {
    let load = Operation.load.clientFunction(over: exchange)
    let hello = Operation.hello.clientFunction(over: exchange)
    return Endpoints(
      UserStorage(
        save: explainingOldKistd(Operation.save.clientFunction(over: exchange), hello),
        load: { request throws(StorageError) in try await load(.init(value: request)).value },
        delete: Operation.delete.clientFunction(over: exchange),
        find: Operation.find.clientFunction(over: exchange)),
      StorageAccess(
        status: Operation.status.clientFunction(over: exchange),
        lock: Operation.lock.clientFunction(over: exchange),
        unlock: Operation.unlock.clientFunction(over: exchange)),
      KeySlots(
        list: Operation.slots.clientFunction(over: exchange),
        add: Operation.slotAdd.clientFunction(over: exchange),
        remove: Operation.slotRemove.clientFunction(over: exchange)),
      Backups(
        make: Operation.backup.clientFunction(over: exchange),
        read: Operation.backupPart.clientFunction(over: exchange)),
      audit: AuditAccess(
        find: Operation.audit.clientFunction(over: exchange),
        verify: Operation.auditVerify.clientFunction(over: exchange)),
      watch: .remote(over: openWatch),
      hello: hello)
  }
}

/// Returns a save that fails with a clear error if kistd is too old to know the key `keep`.
///
/// An old kistd refuses the unknown key and saves nothing.
private func explainingOldKistd(
  _ save: @escaping @Sendable (SaveRequest) async throws(StorageError) -> CredentialSummary,
  _ hello: @escaping HelloLookup
) -> @Sendable (SaveRequest) async throws(StorageError) -> CredentialSummary {
  { request throws(StorageError) in
    do throws(StorageError) { return try await save(request) } catch {
      guard error.code == .badRequest, !request.keep.isEmpty,
        let features = try? await hello().features, !features.contains(Hello.keepFeature)
      else { throw error }
      throw StorageError(
        .badRequest, "kistd is older than kist, and cannot keep the fields of a stored credential",
        hint: "restart kistd; until then, `kist save --replace` saves without keeping them",
        outcome: .unchanged)
    }
  }
}

/// Returns a function that sends a request as a line, and returns the reply or throws its error.
package func exchange(over lines: @escaping LineExchange) -> Exchange {
  { request throws(StorageError) in
    try readReply(try await lines(requestLine(request)), to: request.operation)
  }
}

/// Returns an exchange whose requests name the program for which the client makes them.
///
/// A kistd without the feature `onBehalfOf` refuses such a request, and does nothing. The exchange
/// then sends the request again, without the program.
///
/// - Parameter program: Returns the program, or `nil` to name none. It is called for each request,
///   in the task that makes the request.
package func exchange(
  onBehalfOf program: @escaping @Sendable () -> ClaimedProgram?, over exchange: @escaping Exchange
) -> Exchange {
  let hello = Operation.hello.clientFunction(over: exchange)
  return { request throws(StorageError) in
    guard let program = program() else { return try await exchange(request) }
    do throws(StorageError) {
      return try await exchange(request.adding(onBehalfOf: program))
    } catch {
      guard error.code == .badRequest, let features = try? await hello().features,
        !features.contains(Hello.onBehalfOfFeature)
      else { throw error }
      return try await exchange(request)
    }
  }
}

/// Returns an exchange that repeats a read once if the connection was lost before the reply.
///
/// A read is a request whose operation has no effect (`OperationEffect.none`). The exchange does not
/// repeat other requests, because kistd may have performed them.
///
/// It removes the `outcome` from the errors of reads and backups, because they change nothing.
package func repeatingReads(_ exchange: @escaping Exchange) -> Exchange {
  { request throws(StorageError) in
    let effect = OperationRow.effect(of: request.operation)
    do throws(StorageError) {
      do throws(StorageError) { return try await exchange(request) } catch {
        guard effect == OperationEffect.none, error.code == .unavailable, error.outcome == .unknown
        else { throw error }
        return try await exchange(request)
      }
    } catch {
      // `exchange` may have set an outcome, because it does not know the operations.
      var error = error
      if effect == OperationEffect.none || effect == .backup { error.outcome = nil }
      throw error
    }
  }
}

/// Returns the line of a request, with an id if one is given.
package func requestLine(
  _ request: Message, id: Int? = nil, limit: Int = Limits.line
) throws(StorageError) -> Line {
  let text = request.requestText(id: id)
  guard text.count <= limit else {
    throw StorageError.tooLarge("the request", limit: limit, size: text.count)
      .withOutcome(.unchanged)
  }
  return Line(text)
}

/// Reads the reply to a request; throws its error.
///
/// If the request had an id, the reply must have the same. An error may have none, because a server
/// also sends errors that are not the answer to a request.
package func readReply(
  _ line: Line, to operation: String, id: Int? = nil
) throws(StorageError) -> Message {
  let failure: StorageError
  do throws(JSONError) {
    let reply = try JSONObject(line.content)
    let isSuccess = try reply.required("ok").bool()
    let received = reply["id"]
    if let id, isSuccess || received != nil, try received?.integer() != id {
      throw .key("id", "is not that of the request")
    }
    if isSuccess { return Message(operation: operation, read: reply) }
    failure = try StorageError(reply.required("error").object())
  } catch { throw .malformedReply(error) }
  throw failure
}

extension StorageError {
  /// Returns the error for a reply that cannot be read.
  ///
  /// The outcome of a change is then unknown.
  package static func malformedReply(_ error: JSONError) -> StorageError {
    StorageError(
      .internal, "the reply does not follow the protocol: \(error)",
      hint: "compare the versions of the client and of kistd")
  }
}
