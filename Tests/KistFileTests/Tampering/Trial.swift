import Foundation
import KistCore
import KistFile
import KistTesting

/// Lays a tampered store down, asks it for everything, changes it where it can be changed, and tells
/// what was wrong with the answers.
struct Trial {
  /// What became of the store.
  enum End: Hashable, CustomStringConvertible {
    /// It did not open.
    case refused(StorageError.Code)
    /// It opened, and something in it was answered `corrupt`.
    case damaged
    /// The same, and a credential that was put back from an earlier time was loaded as it was then,
    /// while the status says that the store is damaged: a hit does not wait for the check.
    case stale
    /// It opened, and nothing could be noticed.
    case unaffected

    var description: String {
      switch self {
      case .refused(let code): "refused as \(code)"
      case .damaged: "damaged"
      case .stale: "damaged, and gave what it was earlier"
      case .unaffected: "unaffected"
      }
    }
  }

  let store: TestStore

  init() throws { store = try TestStore(in: "/dev/shm") }

  /// - Parameter older: what was in it at an earlier time.
  /// - Returns: what became of it, and each answer that was neither right nor `corrupt`.
  func run(
    on specimen: Specimen, older: [Credential] = []
  ) async throws -> (end: End, wrong: [String]) {
    try specimen.lay(in: store)
    var answers = Answers(older: older)
    let opened: OpenStorage
    do throws(StorageError) { opened = try await store.open() } catch {
      if error.hint == nil { answers.wrong.append("a refusal without a hint") }
      if try store.bytes() != specimen.database { answers.wrong.append("refused, and changed") }
      return (.refused(error.code), answers.wrong)
    }
    if try await opened.access.status().isLocked {
      await opened.close()
      if try store.bytes() != specimen.database { answers.wrong.append("locked, and changed") }
      return (.refused(.locked), answers.wrong)
    }
    await ask(opened.credentials, for: specimen.content, &answers)
    await answers.note("find") {
      let found = try await opened.credentials.findAll()
      return found.sorted { $0.key < $1.key }
        == specimen.content.map(\.summary).sorted { $0.key < $1.key }
    }
    await answers.note("a load of what is absent", absent: true) {
      _ = try await opened.credentials.load(CredentialKey(service: "absent"))
      return false
    }
    var content = specimen.content
    let isChanged = await change(opened.credentials, &content, &answers)
    await ask(opened.credentials, for: content, &answers)
    let integrity = try await opened.access.status().integrity
    if answers.sawOlder, integrity != .failed || isChanged {
      answers.wrong.append("an older credential was loaded, and nobody was told")
    }
    await opened.close()
    if !isChanged, specimen.beside.isEmpty, try store.bytes() != specimen.database {
      answers.wrong.append("no change was answered as done, and the file is another")
    }
    if isChanged {
      do throws(StorageError) {
        let reopened = try await store.open()
        await answers.note("the count") {
          try await reopened.access.status().count == content.count
        }
        await ask(reopened.credentials, for: content, &answers)
        await reopened.close()
      } catch { answers.wrong.append("\(error.code) after changes that were answered as done") }
    }
    let end: End = answers.sawOlder ? .stale : answers.sawDamage ? .damaged : .unaffected
    return (end, answers.wrong)
  }

  private func ask(
    _ storage: UserStorage, for content: [Credential], _ answers: inout Answers
  ) async {
    let older = answers.older
    for credential in content {
      var isOlder = false
      await answers.note("a load of \(credential.summary.key.account)") {
        let loaded = try await storage.load(credential.summary.key)
        if loaded != credential, older.contains(loaded) {
          isOlder = true
          return true
        }
        return loaded == credential
      }
      answers.sawOlder = answers.sawOlder || isOlder
    }
  }

  /// Saves a new credential, replaces one and deletes one; says whether any of it was done.
  private func change(
    _ storage: UserStorage, _ content: inout [Credential], _ answers: inout Answers
  ) async -> Bool {
    var isChanged = false
    let new = NewCredential.sample(.init(service: "new"), secret: "new")
    let replaced = NewCredential.sample(content[0].summary.key, secret: "replaced")
    for credential in [new, replaced] {
      var summary: CredentialSummary?
      await answers.note("a save", isChange: true) {
        summary = try await storage.save(credential)
        return true
      }
      guard let summary else { continue }
      isChanged = true
      content.removeAll { $0.summary.key == credential.key }
      content.append(Credential(summary: summary, secret: credential.secret))
    }
    let deleted = content[0].summary.key
    var isDeleted = false
    await answers.note("a delete", isChange: true) {
      isDeleted = try await storage.delete(deleted)
      return isDeleted
    }
    if isDeleted {
      content.removeFirst()
      isChanged = true
    }
    return isChanged
  }
}

/// What a store has answered.
private struct Answers {
  /// What was in the store at an earlier time.
  let older: [Credential]
  var sawOlder = false
  var sawDamage = false
  var wrong: [String] = []

  /// Notes the answer to a request, whose body says whether what it got is right.
  mutating func note(
    _ request: String, absent: Bool = false, isChange: Bool = false,
    _ body: () async throws -> Bool
  ) async {
    do {
      if try await !body() { wrong.append("\(request): another answer") }
    } catch let error as StorageError {
      switch error.code {
      case .corrupt: sawDamage = true
      case .notFound where absent: break
      default: wrong.append("\(request): \(error)")
      }
      if isChange, error.outcome != .unchanged {
        wrong.append("\(request): \(error.outcome as Any)")
      }
    } catch { wrong.append("\(request): \(error)") }
  }
}
