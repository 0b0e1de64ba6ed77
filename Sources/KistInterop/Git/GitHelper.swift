package import KistCore

/// Answers as git's credential helper: gitcredentials(7), "CUSTOM HELPERS".
///
/// Git uses the output whatever the exit status is, and shows standard error to the user. An
/// unknown operation is ignored, as git requires.
package func answerGit(_ call: HelperCall, _ storage: UserStorage) async -> HelperAnswer {
  do throws(StorageError) {
    switch call.arguments.first {
    case "capability": return .done(Secret(utf8: "version 0\ncapability authtype\n"))
    case "get":
      let message = try GitMessage(reading: call.readInput())
      let found = try await message.get(now: call.now(), find: storage.find, load: storage.load)
      return found.map { .done($0) } ?? .done()
    case "store":
      let message = try GitMessage(reading: call.readInput())
      try await message.store(
        now: call.now(), load: storage.load, save: storage.save, delete: storage.delete)
    case "erase":
      let message = try GitMessage(reading: call.readInput())
      try await message.erase(find: storage.find, load: storage.load, delete: storage.delete)
    case nil: throw .wrongWords("get, store, erase or capability")
    default: break
    }
    return .done()
  } catch {
    return .failed(error)
  }
}
