package import KistCore

/// Everything that can be asked of kistd: a table from the names of operations to functions.
package func dispatch(
  _ credentials: UserStorage, _ access: StorageAccess, hello: Hello
) -> Exchange {
  var handlers: [String: Exchange] = [
    "save": Operation.save.served(by: credentials.save),
    "load": Operation.load.servedAsAsked(by: credentials.load),
    "delete": Operation.delete.served(by: credentials.delete),
    "find": Operation.find.servedWithinALine(by: credentials.find),
    "status": Operation.status.served { () throws(StorageError) in try await access.status() },
    "lock": Operation.lock.served { () throws(StorageError) in try await access.lock() },
    "unlock": Operation.unlock.served(by: limitingPassphrase(access.unlock)),
  ]
  var hello = hello
  hello.operations = (["hello"] + handlers.keys).sorted()
  let greeting = hello
  handlers["hello"] = Operation.hello.served { greeting }
  let table = handlers
  return { request throws(StorageError) in
    guard let handle = table[request.operation] else {
      throw .unknownOperation.withOutcome(.unchanged)
    }
    return try await handle(request)
  }
}
