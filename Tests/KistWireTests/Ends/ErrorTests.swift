import KistCore
import KistTesting
import KistWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct ErrorTests {
  @Test(arguments: [
    (
      StorageError(.locked, "the storage is locked", hint: "unlock it"),
      #"{"code":"locked","message":"the storage is locked","hint":"unlock it"}"#
    ),
    (
      StorageError(.timeout, "no \"answer\"", outcome: .unknown),
      #"{"code":"timeout","message":"no \"answer\"","outcome":"unknown"}"#
    ),
    (
      StorageError(.conflict, "m", outcome: .unchanged, current: .absent),
      #"{"code":"conflict","message":"m","outcome":"unchanged","current":null}"#
    ),
    (
      StorageError(
        .conflict, "m", hint: "h", outcome: .unchanged,
        current: .revision(Revision(rawValue: "k3f9.12"))),
      #"{"code":"conflict","message":"m","hint":"h","outcome":"unchanged","current":"k3f9.12"}"#
    ),
  ])
  func `an error is the same at both ends`(error thrown: StorageError, json: String) async {
    var storage = UserStorage.unimplemented
    storage.load = { _ throws(StorageError) in throw thrown }
    let answer = answer(with: service(storage))
    let reply = await answer(Line(#"{"op":"load","service":"s"}"#))
    #expect(reply.text == #"{"ok":false,"error":\#(json)}"#)
    let remote = Endpoints.remote(
      over: exchange { line throws(StorageError) in await answer(line) }
    ).credentials
    #expect(await error { () throws(StorageError) in try await remote.load(.sample) } == thrown)
  }

  @Test(arguments: StorageError.Code.allCases)
  func `every error of a change has an outcome`(code: StorageError.Code) async {
    let started: Set<StorageError.Code> = [.internal, .unavailable, .timeout, .full]
    let outcome: StorageError.Outcome = started.contains(code) ? .unknown : .unchanged
    for given in [nil, .unknown, .unchanged] as [StorageError.Outcome?] {
      let thrown = StorageError(code, "m", outcome: given)
      let remote = Endpoints.remote(over: service(.failing(with: thrown))).credentials
      let expected = StorageError(code, "m", outcome: given ?? outcome)
      #expect(
        await error { () throws(StorageError) in try await remote.save(.sample()) } == expected)
      #expect(
        await error { () throws(StorageError) in try await remote.delete(.sample) } == expected)
      #expect(await error { () throws(StorageError) in try await remote.load(.sample) } == thrown)
      #expect(await error { () throws(StorageError) in try await remote.findAll() } == thrown)
    }
  }
}

extension UserStorage {
  fileprivate static func failing(with error: StorageError) -> UserStorage {
    UserStorage(
      save: { _ throws(StorageError) in throw error },
      load: { _ throws(StorageError) in throw error },
      delete: { _ throws(StorageError) in throw error },
      find: { _ throws(StorageError) in throw error })
  }
}
