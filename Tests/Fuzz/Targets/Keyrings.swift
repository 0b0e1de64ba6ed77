import CLibsecret
import KistCore

@testable import KistLibsecret

/// The keyring, with a provider whose answers depend on the input.
///
/// It answers correctly, with other types, with errors, or not at all. Each request ends, and a
/// result matches its request.
///
/// An input of zeros is an honest provider.
let keyrings = Target("keyrings") { input in
  var input = input
  let requests = input.bytes(2)
  let script = Script(input)
  HostileBus.own.play(script)
  wait {
    let storage = Libsecret.open(options(HostileBus.own.address))
    for request in requests { await ask(request, storage) }
    await storage.close()
  }
  HostileBus.own.end()
}

private let key = CredentialKey(service: "s", account: "u")

private func options(_ address: String) -> Libsecret.Options {
  Libsecret.Options(busAddress: address, deadline: .milliseconds(50))
}

private func ask(_ number: UInt8, _ storage: OpenStorage) async {
  let credentials = storage.credentials
  do throws(StorageError) {
    // Newer requests have the last numbers, so that earlier inputs keep their meaning.
    switch number < 248 ? number % 8 : number - 240 {
    case 0:
      let loaded = try await credentials.load(LoadRequest(key: key, allowExpired: true))
      demand(loaded.summary.key == key, "a loaded credential has the requested key")
      demand(loaded.summary.isWithinLimits, "a loaded credential is within the limits")
      demand(loaded.secret.count <= Limits.secret, "a loaded credential is within the limits")
    case 1:
      let credential = NewCredential(
        key: key, secret: Secret(utf8: "secret"), label: "l", attributes: ["k": "v"])
      let saved = try await credentials.save(SaveRequest(credential: credential))
      demand(saved.key == key && saved.label == "l", "a saved credential matches the request")
    case 2: _ = try await credentials.delete(DeleteRequest(key: key))
    case 3:
      for summary in try await credentials.find(CredentialQuery(service: "s")).credentials {
        demand(summary.key.service == "s", "a found credential matches the query")
        demand(summary.isWithinLimits, "a found credential is within the limits")
      }
    case 4: _ = try await storage.access.status()
    case 5: _ = try await storage.access.lock()
    case 6: _ = try await storage.access.unlock(nil)
    case 8:
      _ = try await Libsecret.foreignItems(
        with: [["application": "another"]], prompting: true, options(HostileBus.own.address))
    case 9:
      let changes = try await storage.watch(service: "s")
      await ask(1, storage)
      await ask(2, storage)
      demand(changes.position == nil, "changes of a keyring have no position")
    default: _ = await Libsecret.probe(options(HostileBus.own.address))
    }
  } catch {
    demand(error.code != .internal, "an error has a cause")
  }
}
