import Glibc
import KistCore

@testable import KistFile

/// The file of a whole store, changed: requests return only what was saved in it.
///
/// An input is a list of changes: the offset, the number of bytes, and the bytes.
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
  guard let examination else { return demand(!isWhole, "an intact store can be examined") }
  demand(examination.good <= golden.credentials.count, "no credential is invented")
  demand(!isWhole || examination.faults.isEmpty, "an intact store has no faults")
}

/// Rekeys, which copies everything or nothing, as a backup does.
private func rekey(_ folder: Folder, isWhole: Bool) {
  let options = store(folder)
  let rekeyed = try? EncryptedFile.rekey(.init(options, keyFile: folder.path("kist.key")))
  guard let rekeyed else { return demand(!isWhole, "an intact store can be rekeyed") }
  demand(rekeyed.count == golden.credentials.count, "exactly the stored credentials are copied")
  let found = try? EncryptedFile.examine(path: options.path, keySource: options.keySource)
  demand(
    found?.faults.isEmpty == true && found?.good == rekeyed.count, "a rekeyed store is intact")
}

private func salvage(_ folder: Folder) {
  let options = store(folder), new = store(folder, "new.db")
  let salvage = try? EncryptedFile.salvage(
    path: options.path, keySource: options.keySource, to: new)
  guard let salvage else { return }
  demand(salvage.copied <= golden.credentials.count, "no credential is invented")
  let found = try? EncryptedFile.examine(path: new.path, keySource: new.keySource)
  demand(
    found?.faults.isEmpty == true && found?.good == salvage.copied, "a salvaged store is intact")
}

private func open(_ folder: Folder) async {
  guard let storage = try? await EncryptedFile.open(store(folder)) else { return }
  if let page = try? await storage.credentials.find(CredentialQuery()) {
    for summary in page.credentials {
      demand(
        golden.credentials[summary.key]?.summary == summary, "a listed credential is the saved one")
    }
  }
  for (key, credential) in golden.credentials {
    do throws(StorageError) {
      let loaded = try await storage.credentials.load(LoadRequest(key: key, allowExpired: true))
      demand(loaded == credential, "a loaded credential is the saved one")
    } catch {
      demand(error.code != .internal, "an error has a cause")
    }
  }
  await storage.close()
}

/// The golden store of the tests of the format.
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
    demand(credentials.count > 3, "the golden store contains credentials")
    folder.empty()
  }
}

private let golden = Golden()
