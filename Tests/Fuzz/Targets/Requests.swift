import KistCore

@testable import KistJSON
@testable import KistWire

/// The server: a sequence of lines, with a storage in memory.
let requests = Target("requests") { input in
  for line in input.rest.split(separator: UInt8(ascii: "\n"), maxSplits: 7) {
    checkRequest(Line(Secret(copying: Array(line))))
  }
  wait {
    let storage = OpenStorage.inMemory(now: { Timestamp(clamping: 1_800_000_000) })
    let watches = Box<[NextLine]>([])
    let reply = answer(with: service(on: storage), registerStream: { watches.value.append($0) })
    for line in input.rest.split(separator: UInt8(ascii: "\n"), maxSplits: 7) {
      let line = Line(Secret(copying: Array(line)))
      let before = line.servesOnlyItsClient ? await page(of: storage) : nil
      checkReply(await reply(line), to: line)
      if let before {
        let after = await page(of: storage)
        demand(after == before, "a reading request changes nothing")
      }
    }
    await storage.close()
    for next in watches.value { await checkChanges(next) }
  }
}

private func page(of storage: OpenStorage) async -> CredentialPage? {
  try? await storage.credentials.find(CredentialQuery())
}

/// Checks the changes that were reported until the storage was closed.
private func checkChanges(_ next: NextLine) async {
  do throws(StorageError) {
    while let line = try await next() {
      demand(line.content.count <= Limits.line, "a reported change is within the limit")
      demand(
        (try? CredentialChange(JSONObject(line.content)))?.json() == line.content,
        "a change is read as it was written")
    }
  } catch { demand(error.code == .unavailable, "a watch ends with the storage") }
}

private func service(on storage: OpenStorage) -> Dispatch {
  let status = StorageStatus(
    storage: "memory", isLocked: false, unlocksWith: nil, reopensAtRestart: false,
    durability: .disk, keyProtection: "none")
  let slot = KeySlotSummary(number: 1, kind: .passphrase, passes: 3, kibibytes: 8)
  let endpoints = Endpoints(
    storage.credentials,
    StorageAccess(
      status: { status }, lock: { status },
      unlock: { passphrase throws(StorageError) in
        if passphrase == nil { throw .notFound }
        return status
      }),
    KeySlots(
      list: { [slot] }, add: { _ in [slot] },
      remove: { removal throws(StorageError) in
        if removal.number == slot.number { throw .notFound }
        return [slot]
      }),
    Backups(
      make: { request throws(StorageError) in
        switch request {
        case .begin: return .copied(1, of: 2, id: "4f1d9c02")
        case .poll(let id): return .made(Backup(id: id, size: 4, count: 2))
        }
      },
      read: { part throws(StorageError) in
        if part.offset != 0 { throw .notFound }
        return Secret(copying: [0, 1, 2, 3])
      }),
    audit: AuditAccess(
      find: { query throws(StorageError) in AuditPage(records: [], next: query.after) },
      verify: { AuditVerdict() }),
    watch: storage.watch, hello: { Hello(version: "1", durability: .disk) })
  return dispatch(endpoints)
}

private func checkReply(_ reply: Line, to line: Line) {
  demand(reply.content.count <= Limits.line, "a reply is within the limit")
  guard let object = try? JSONObject(reply.content), let isOK = try? object.required("ok").bool()
  else { return demand(false, "a reply is an object with the member ok") }
  guard isOK, let request = try? JSONObject(line.content) else {
    return demand(
      (try? StorageError(object.required("error").object())) != nil, "an error can be read")
  }
  demand(text(of: request["id"]) == text(of: object["id"]), "the id is echoed")
}

private func text(of value: JSONValue?) -> [UInt8]? {
  value?.withText { text in text.indices.map { text[$0] } }
}

/// Checks that decoding, encoding and decoding again returns the same request.
private func checkRequest(_ line: Line) {
  guard
    let object = try? JSONObject(line.content), let name = try? object.required("op").string()
  else { return }
  let message = Message(operation: name, read: object)
  switch name {
  case "save": checkRequest(.save, message) { $0 == $1 }
  case "load":
    checkRequest(.load, message) { $0.value == $1.value && $0.encoding == $1.encoding }
  case "delete": checkRequest(.delete, message) { $0 == $1 }
  case "find": checkRequest(.find, message) { $0 == $1 }
  case "audit": checkRequest(.audit, message) { $0 == $1 }
  case "auditVerify": checkRequest(.auditVerify, message) { _, _ in true }
  case "watch": checkRequest(.watch, message) { $0.service == $1.service }
  case "unlock": checkRequest(.unlock, message) { $0 == $1 }
  case "slotAdd": checkRequest(.slotAdd, message) { $0 == $1 }
  case "slotRemove": checkRequest(.slotRemove, message) { $0 == $1 }
  case "backup": checkRequest(.backup, message) { $0 == $1 }
  case "backupPart": checkRequest(.backupPart, message) { $0 == $1 }
  default: break
  }
}

private func checkRequest<Input: Sendable, Output>(
  _ operation: Operation<Input, Output>, _ message: Message,
  _ areSame: @escaping @Sendable (Input, Input) -> Bool
) {
  var note = RequestNotes.Note()
  guard let input = try? operation.decodeRequest(message, noting: &note) else { return }
  let sent = Box<Message?>(nil)
  let call = Box(
    operation.clientFunction { message throws(StorageError) in
      sent.value = message
      throw .notFound
    })
  let boxed = Box(input)
  wait { _ = try? await call.value(boxed.value) }
  guard let message = sent.value else { return }
  guard
    let object = try? JSONObject(message.requestText()),
    let again = try? operation.decodeRequest(
      Message(operation: operation.name, read: object), noting: &note)
  else { return demand(false, "a request that was written can be read") }
  demand(areSame(input, again), "a request is read as it was written")
}
