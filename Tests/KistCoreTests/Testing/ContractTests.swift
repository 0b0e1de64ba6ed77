import KistCore
import KistTesting
import Testing

/// A contract is worth what it catches: storages with one defect each, and the rule that must fail.
@Suite(.timeLimit(.minutes(5))) struct ContractTests {
  @Test(arguments: Defect.all)
  func `the contract notices a defect`(defect: Defect) async throws {
    let rule = try #require(UserStorageContract.all.first { $0.name == defect.broken })
    let clock = ManualClock()
    let storage = defect.inflict(.inMemory(now: clock.now))
    await withKnownIssue { try await rule.check(.init(storage: storage, clock: clock)) }
  }

  @Test func `no two rules have one name`() {
    let names = UserStorageContract.all.map(\.name)
    #expect(Set(names).count == names.count)
  }
}

struct Defect: Sendable, CustomTestStringConvertible {
  let name: String
  /// The name of the rule that it breaks.
  let broken: String
  let inflict: @Sendable (UserStorage) -> UserStorage

  var testDescription: String { name }

  static let all = lossy + confused + indifferent + leaky
}

extension Defect {
  fileprivate static let lossy = [
    Defect(
      name: "cuts secrets at NUL", broken: "a secret of all byte values comes back unchanged"
    ) { sound in
      sound.saving { credential in
        let bytes = credential.secret.withBytes { span in span.indices.map { span[$0] } }
        credential.secret = Secret(copying: bytes.prefix { $0 != 0 })
      }
    },
    Defect(
      name: "drops a newline at the end",
      broken: "a secret of awkward text comes back byte for byte"
    ) { sound in
      sound.saving { credential in
        let bytes = credential.secret.withBytes { span in span.indices.map { span[$0] } }
        if bytes.last == 0x0A { credential.secret = Secret(copying: bytes.dropLast()) }
      }
    },
    Defect(
      name: "answers a save that it forgets",
      broken: "concurrent saves of different keys are all stored"
    ) { sound in
      sound.saving { credential in
        if credential.key.account == "7" { credential.key.service = "elsewhere" }
      }
    },
    Defect(
      name: "leaves out the last of a page",
      broken: "pages respect their limit and contain each credential exactly once"
    ) { sound in
      var storage = sound
      storage.find = { query throws(StorageError) in
        var page = try await sound.find(query)
        if page.next != nil { page.credentials.removeLast() }
        return page
      }
      return storage
    },
  ]

  fileprivate static let confused = [
    Defect(name: "ignores case", broken: "keys that differ only in case are distinct") { sound in
      sound.saving { credential in
        credential.key.service = credential.key.service.lowercased()
      }
    },
    Defect(
      name: "merges attributes",
      broken: "a save replaces the whole credential, except createdAt"
    ) { sound in
      var storage = sound
      storage.save = { request throws(StorageError) in
        var request = request
        let old = try await sound.findAll().first { $0.key == request.credential.key }
        for (name, value) in old?.attributes.sorted ?? [] {
          request.credential.attributes[name] = value
        }
        return try await sound.save(request)
      }
      return storage
    },
    Defect(
      name: "keeps nothing",
      broken: "a save keeps the fields that it names and the new credential does not have"
    ) { sound in
      var storage = sound
      storage.save = { request throws(StorageError) in
        try await sound.save(request.credential, if: request.condition)
      }
      return storage
    },
    Defect(
      name: "keeps everything",
      broken: "a save that keeps fields removes those that it does not name"
    ) { sound in
      var storage = sound
      storage.save = { request throws(StorageError) in
        try await sound.save(
          request.credential, if: request.condition, keep: request.keep.isEmpty ? [] : .all)
      }
      return storage
    },
    Defect(
      name: "ignores attributes", broken: "a find returns exactly the matching credentials"
    ) { sound in
      var storage = sound
      storage.find = { query throws(StorageError) in
        var query = query
        query.attributes = [:]
        return try await sound.find(query)
      }
      return storage
    },
    Defect(name: "deletes by service", broken: "a delete leaves all other credentials unchanged") {
      sound in
      var storage = sound
      storage.delete = { request throws(StorageError) in
        let found = try await sound.findAll(CredentialQuery(service: request.key.service))
        for summary in found { try await sound.delete(summary.key) }
        return !found.isEmpty
      }
      return storage
    },
  ]

  fileprivate static let indifferent = [
    Defect(
      name: "ignores conditions",
      broken: "of 50 concurrent saves with the same revision, exactly one succeeds"
    ) { sound in
      var storage = sound
      storage.save = { request throws(StorageError) in try await sound.save(request.credential) }
      return storage
    },
    Defect(name: "skips equal saves", broken: "a save of equal bytes creates a new revision") {
      sound in
      var storage = sound
      storage.save = { request throws(StorageError) in
        let old = try? await sound.load(request.credential.key)
        if let old, old.secret == request.credential.secret { return old.summary }
        return try await sound.save(request)
      }
      return storage
    },
    Defect(
      name: "never expires", broken: "a load throws expired from exactly expiresAt on"
    ) { sound in
      var storage = sound
      storage.load = { request throws(StorageError) in
        try await sound.load(LoadRequest(key: request.key, allowExpired: true))
      }
      return storage
    },
    Defect(
      name: "complains of deleting nothing",
      broken: "a delete returns true only if the credential is stored"
    ) { sound in
      var storage = sound
      storage.delete = { request throws(StorageError) in
        guard try await sound.delete(request) else { throw .notFound }
        return true
      }
      return storage
    },
  ]

  fileprivate static let leaky = [
    Defect(name: "echoes the service", broken: "no error contains any part of the request") {
      sound in
      var storage = sound
      storage.load = { request throws(StorageError) in
        do throws(StorageError) {
          return try await sound.load(request)
        } catch {
          throw StorageError(error.code, "nothing for \(request.key.service)", hint: error.hint)
        }
      }
      return storage
    },
    Defect(
      name: "does not say that nothing was changed",
      broken: "every operation refuses a key that exceeds the limits"
    ) { sound in
      var storage = sound
      storage.save = { request throws(StorageError) in
        do throws(StorageError) {
          return try await sound.save(request)
        } catch {
          throw StorageError(error.code, "no")
        }
      }
      return storage
    },
  ]
}

extension UserStorage {
  /// The same storage, which saves something else than what it is given.
  fileprivate func saving(_ change: @escaping @Sendable (inout NewCredential) -> Void)
    -> UserStorage
  {
    var storage = self
    storage.save = { request throws(StorageError) in
      var request = request
      change(&request.credential)
      return try await save(request)
    }
    return storage
  }
}
