import Glibc
import KistCore

@testable import KistFile

/// A whole store whose file was changed: whatever it is by then, nothing is told of it but what was
/// saved in it.
///
/// An input is a list of changes: where, how many bytes, and these.
let stores = Target("stores") { input in
  var input = input
  var file = golden.file
  let use = input.choice(of: 4)
  while !input.isEmpty {
    let page = Int(input.byte()) * 4096, offset = Int(input.byte()) << 8 | Int(input.byte())
    let patch = input.bytes(input.choice(of: 32))
    if input.choice(of: 16) == 15 { file.removeLast(min(file.count, offset)) }
    for (index, byte) in patch.enumerated() where !file.isEmpty {
      file[(page + offset + index) % file.count] = byte
    }
  }
  let folder = Folder.own
  folder.write(file, to: "kist.db")
  folder.write(golden.key, to: "kist.key")
  switch use {
  case 0: examine(folder, isWhole: file == golden.file)
  case 1: wait { await open(folder) }
  case 2: rekey(folder, isWhole: file == golden.file)
  default: salvage(folder)
  }
  folder.empty()
}

private func store(_ folder: Folder, _ name: String = "kist.db") -> EncryptedFile.Options {
  EncryptedFile.Options(
    path: folder.path(name), keySource: .keyFile(path: folder.path("kist.key")))
}

private func examine(_ folder: Folder, isWhole: Bool) {
  let options = store(folder)
  let examination = try? EncryptedFile.examine(path: options.path, keySource: options.keySource)
  guard let examination else { return demand(!isWhole, "a whole store can be examined") }
  demand(examination.good <= golden.credentials.count, "no credential is made of nothing")
  demand(!isWhole || examination.faults.isEmpty, "nothing is wrong with a whole store")
}

/// What is copied whole, a backup likewise, is all of it or nothing.
private func rekey(_ folder: Folder, isWhole: Bool) {
  let options = store(folder)
  let rekeyed = try? EncryptedFile.rekey(.init(options, keyFile: folder.path("kist.key")))
  guard let rekeyed else { return demand(!isWhole, "a whole store can be given a new key") }
  demand(rekeyed.count == golden.credentials.count, "all is copied, and nothing else")
  let found = try? EncryptedFile.examine(path: options.path, keySource: options.keySource)
  demand(
    found?.faults.isEmpty == true && found?.good == rekeyed.count, "what has a new key is whole")
}

private func salvage(_ folder: Folder) {
  let options = store(folder), new = store(folder, "new.db")
  let salvage = try? EncryptedFile.salvage(
    path: options.path, keySource: options.keySource, to: new)
  guard let salvage else { return }
  demand(salvage.copied <= golden.credentials.count, "no credential is made of nothing")
  let found = try? EncryptedFile.examine(path: new.path, keySource: new.keySource)
  demand(
    found?.faults.isEmpty == true && found?.good == salvage.copied, "what was salvaged is whole")
}

private func open(_ folder: Folder) async {
  guard let storage = try? await EncryptedFile.open(store(folder)) else { return }
  if let page = try? await storage.credentials.find(CredentialQuery()) {
    for summary in page.credentials {
      demand(
        golden.credentials[summary.key]?.summary == summary, "what is listed is what was saved")
    }
  }
  for (key, credential) in golden.credentials {
    do throws(StorageError) {
      let loaded = try await storage.credentials.load(LoadRequest(key: key, allowExpired: true))
      demand(loaded == credential, "what is loaded is what was saved")
    } catch {
      demand(error.code != .internal, "an error has a cause")
    }
  }
  await storage.close()
}

/// The store that the tests of the format keep.
private struct Golden {
  let file = read(folder + "v1-key-file.db"), key = read(folder + "v1-key-file.key")
  var credentials: [CredentialKey: Credential] = [:]

  private static let folder =
    #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
    + "/KistFileTests/Golden/"

  init() {
    let folder = Folder.own
    folder.write(file, to: "kist.db")
    folder.write(key, to: "kist.key")
    credentials = wait {
      let storage = try! await EncryptedFile.open(store(folder))
      var credentials: [CredentialKey: Credential] = [:]
      for summary in try! await storage.credentials.find(CredentialQuery()).credentials {
        credentials[summary.key] = try! await storage.credentials.load(
          LoadRequest(key: summary.key, allowExpired: true))
      }
      await storage.close()
      return credentials
    }
    demand(credentials.count > 3, "there is a golden store")
    folder.empty()
  }
}

private let golden = Golden()
