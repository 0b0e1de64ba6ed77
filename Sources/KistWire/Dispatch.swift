package import KistCore

/// Returns the function that carries out a request, by the name of its operation; `nil` if it does
/// not exist.
package typealias Dispatch = @Sendable (Message) -> Exchange?

/// Throws the error for an operation that does not exist.
@Sendable package func refuseUnknown(_ request: Message) async throws(StorageError) -> Message {
  throw .unknownOperation.withOutcome(.unchanged)
}

/// Returns the table of all kistd's operations with one reply: from names to functions.
///
/// `watch`, which sends several lines, is separate (`watching`).
package func dispatch(
  _ credentials: UserStorage, _ access: StorageAccess, _ keySlots: KeySlots = .none,
  _ backups: Backups = .none, audit: AuditAccess = .none, hello: Hello
) -> Dispatch {
  var handlers = [
    Handler("save", Operation.save.served(by: credentials.save)),
    Handler("load", Operation.load.servedAsAsked(by: credentials.load)),
    Handler("delete", Operation.delete.served(by: credentials.delete)),
    Handler("find", Operation.find.servedWithinALine(by: credentials.find)),
    Handler(
      "status", Operation.status.served { () throws(StorageError) in try await access.status() }),
    Handler("lock", Operation.lock.served { () throws(StorageError) in try await access.lock() }),
    Handler("audit", Operation.audit.served(by: limitingPage(audit.find))),
    Handler(
      "auditVerify",
      Operation.auditVerify.served { () throws(StorageError) in try await audit.verify() }),
    Handler("unlock", Operation.unlock.served(by: limitingPassphrase(access.unlock))),
    Handler(
      "slots", Operation.slots.served { () throws(StorageError) in try await keySlots.list() }),
    Handler("slotAdd", Operation.slotAdd.served(by: keySlots.add)),
    Handler("slotRemove", Operation.slotRemove.served(by: keySlots.remove)),
    Handler("backup", Operation.backup.served(by: backups.make)),
    Handler("backupPart", Operation.backupPart.served(by: backups.read)),
  ]
  var hello = hello
  hello.operations = (["hello", Operation.watch.name] + handlers.map(\.operation)).sorted()
  let greeting = hello
  handlers.append(Handler("hello", Operation.hello.served { greeting }))
  let table = handlers
  return { request in
    guard let handler = table.first(where: { $0.operation == request.operation }) else {
      return nil
    }
    request.notes?.add(operation: handler.operation)
    return handler.handle
  }
}

/// A row of the table.
///
/// With so few rows a search is faster than hashing a name. A function in a dictionary would also
/// be called through a function that converts its types.
private struct Handler: Sendable {
  let operation: String
  let handle: Exchange

  init(_ operation: String, _ handle: @escaping Exchange) {
    self.operation = operation
    self.handle = handle
  }
}
