internal import KistCore

/// Takes a request, and returns the function that performs it.
///
/// The second argument is for `watch`: it starts the stream of events on the connection of the
/// request.
package typealias Dispatch = @Sendable (Message, @escaping RegisterStream) -> NotedExchange

/// Returns a function that finds the operation of each request in the table of operations.
package func dispatch(_ endpoints: Endpoints) -> Dispatch {
  let handlers = OperationRow.all.map { Handler(operation: $0.name, serve: $0.serve(endpoints)) }
  return { request, registerStream in
    guard let handler = handlers.first(where: { $0.operation == request.operation }) else {
      return refuseUnknown
    }
    return handler.serve(registerStream)
  }
}

/// An operation's name, and the function that returns the `NotedExchange` for a request.
///
/// `dispatch` searches an array of handlers. With so few operations, this is faster than a
/// dictionary.
private struct Handler: Sendable {
  let operation: String
  let serve: @Sendable (@escaping RegisterStream) -> NotedExchange
}

@Sendable private func refuseUnknown(
  _ request: Message, _ note: inout RequestNotes.Note
) async throws(StorageError) -> Message {
  throw .unknownOperation.withOutcome(.unchanged)
}

/// A row of the table of operations.
struct OperationRow: Sendable {
  /// Every operation of the protocol, in the order in which `dispatch` searches.
  static let all: [OperationRow] = [
    Operation.load.row(serving: {
      Operation.load.servedInRequestedEncoding(by: $0.credentials.load)
    }),
    Operation.save.row { $0.credentials.save },
    Operation.delete.row { $0.credentials.delete },
    Operation.find.row(serving: { Operation.find.servedWithinALine(by: $0.credentials.find) }),
    Operation.watch.row(streaming: { Operation.watch.served(by: $0.watch, $1) }),
    Operation.status.row { $0.access.status },
    Operation.lock.row { $0.access.lock },
    Operation.unlock.row { limitingPassphrase($0.access.unlock) },
    Operation.slots.row { $0.keySlots.list },
    Operation.slotAdd.row { $0.keySlots.add },
    Operation.slotRemove.row { $0.keySlots.remove },
    Operation.backup.row { $0.backups.make },
    Operation.backupPart.row { $0.backups.read },
    Operation.audit.row { limitingPage($0.audit.find) },
    Operation.auditVerify.row { $0.audit.verify },
    Operation.hello.row { $0.hello },
  ]

  let name: String
  let effect: OperationEffect
  /// Returns the effect of an operation; `nil` if there is no operation of this name.
  static func effect(of name: String) -> OperationEffect? {
    all.first { $0.name == name }?.effect
  }

  /// Makes the function that performs requests of this operation, in two steps.
  ///
  /// `serve` is called once, with the server's endpoints. The function that it returns is called for
  /// each request, with the `RegisterStream` of the connection. It returns the `NotedExchange` that
  /// performs the request.
  let serve: @Sendable (Endpoints) -> @Sendable (@escaping RegisterStream) -> NotedExchange
}

extension Operation {
  fileprivate func row(_ run: @escaping @Sendable (Endpoints) -> Run) -> OperationRow {
    row(serving: { served(by: run($0)) })
  }

  fileprivate func row(
    serving serve: @escaping @Sendable (Endpoints) -> NotedExchange
  ) -> OperationRow {
    OperationRow(name: name, effect: effect) { endpoints in
      let exchange = serve(endpoints)
      return { _ in exchange }
    }
  }

  fileprivate func row(
    streaming serve: @escaping @Sendable (Endpoints, @escaping RegisterStream) -> NotedExchange
  ) -> OperationRow {
    OperationRow(name: name, effect: effect) { endpoints in
      { serve(endpoints, $0) }
    }
  }
}

extension Operation where Input == Void {
  fileprivate func row(_ run: @escaping @Sendable (Endpoints) -> RunWithoutInput) -> OperationRow {
    row(serving: { endpoints in
      let run = run(endpoints)
      return served { () throws(StorageError) in try await run() }
    })
  }
}
