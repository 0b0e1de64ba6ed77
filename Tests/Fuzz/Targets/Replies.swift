import KistCore

@testable import KistJSON
@testable import KistWire

/// The client, with any reply.
let replies = Target("replies") { input in
  var input = input
  let choice = input.choice(of: 9)
  let line = Line(Secret(copying: input.rest))
  let credential = NewCredential(key: CredentialKey(service: "s"), secret: Secret(utf8: "x"))
  switch choice {
  case 0: checkReply(.save, SaveRequest(credential: credential), line) { $0 == $1 }
  case 1:
    let request = WithEncoding(value: LoadRequest(key: credential.key))
    checkReply(.load, request, line) { $0.value == $1.value }
  case 2: checkReply(.delete, DeleteRequest(key: credential.key), line) { $0 == $1 }
  case 3: checkReply(.find, CredentialQuery(), line) { $0 == $1 }
  case 4: checkReply(.status, (), line) { $0 == $1 }
  case 5: checkReply(.lock, (), line) { $0 == $1 }
  case 6: checkReply(.unlock, nil, line) { $0 == $1 }
  case 7: checkReply(.audit, AuditQuery(), line) { $0 == $1 }
  default:
    checkReply(.hello, (), line) { $0 == $1 }
    checkReply(.auditVerify, (), line) { $0 == $1 }
    checkReply(.slots, (), line) { $0 == $1 }
    checkReply(.backup, .poll(id: "b"), line) { $0 == $1 }
    checkReply(.backupPart, BackupPart(of: "b", from: 0), line) { $0 == $1 }
    checkReply(.watch, WatchRequest(), line) { $0 == $1 }
    checkChange(line)
    checkDiagnosis(line)
  }
}

/// Reads the output of `kistd probe` as `kist doctor` does.
private func checkDiagnosis(_ line: Line) {
  let text = line.content.withBytes(String.init(repairing:))
  guard let diagnosis = StorageDiagnosis(text) else { return }
  let written = diagnosis.json().withBytes(String.init(repairing:))
  demand(StorageDiagnosis(written) == diagnosis, "a diagnosis is read as it was written")
}

/// Reads a change as a watcher does.
private func checkChange(_ line: Line) {
  guard let change = readChange(line) else { return }
  demand(readChange(Line(change.json())) == change, "a change is read as it was written")
}

private func readChange(_ line: Line) -> CredentialChange? {
  let watch = WatchCredentials.remote { _ throws(StorageError) in
    (Line(Secret(utf8: #"{"ok":true}"#)), { () throws(StorageError) in line })
  }
  return wait { try? await watch().makeAsyncIterator().next() }
}

private func checkReply<Input: Sendable, Output: Sendable>(
  _ operation: Operation<Input, Output>, _ input: Input, _ line: Line,
  _ areSame: @Sendable (Output, Output) -> Bool
) {
  switch result(of: operation, input, line) {
  case .success(let output):
    guard let message = try? operation.encodeReply(output) else {
      return demand(false, "a reply that was read can be written")
    }
    guard case .success(let again) = result(of: operation, input, Line(message.replyText(id: nil)))
    else { return demand(false, "a reply that was written can be read") }
    demand(areSame(output, again), "a reply is read as it was written")
  case .failure(let error):
    let text = error.json()
    demand(
      (try? StorageError(JSONObject(text))) == error, "an error is read as it was written")
  }
}

private func result<Input: Sendable, Output: Sendable>(
  of operation: Operation<Input, Output>, _ input: Input, _ line: Line
) -> Result<Output, StorageError> {
  let call = operation.clientFunction(over: exchange(over: { _ in line }))
  return wait {
    do throws(StorageError) { return .success(try await call(input)) } catch {
      return .failure(error)
    }
  }
}
