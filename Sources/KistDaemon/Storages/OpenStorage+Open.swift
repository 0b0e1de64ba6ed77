internal import KistCore
internal import KistFile
internal import KistSystem

extension OpenStorage {
  /// Selects a storage and opens it to serve it; logs the reason, and the creation of a store.
  ///
  /// - Parameter start: when kistd started; it may have opened the storage before.
  static func open(
    _ context: StorageContext, since start: ContinuousClock.Instant = .now
  ) async throws(StorageError) -> OpenStorage {
    let options = context.options
    let pinFile = PinFile(path: options.pinFile)
    let written = try pinFile.read()
    removeUnfinished(of: pinFile.path)
    let probes = await Probes(context, pin: written)
    let pin = written.map { pinFile.settled($0, on: probes[$0.kind]) }
    let selection = try Selection.select(asked: options.storage, pin: pin, probes)
    let kind = selection.kind
    var storage = kind.served(try await kind.open(context, pin), options)
    if pin == nil {
      let new = Pin(kind: kind, storeID: storage.id)
      storage.credentials = storage.credentials.pinning { () throws(StorageError) in
        try pinFile.write(new, insteadOf: nil)
      }
    }
    storage.reason = selection.reason
    storage.access = storage.access.reporting(reason: selection.reason, since: start)
    return storage
  }
}
