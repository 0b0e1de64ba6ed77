package import KistCore

extension EncryptedFile {
  /// Looks at all of a store: the files, the database, and with the key all that is sealed.
  ///
  /// Nothing is changed. Throws `notFound` where there is no store, `busy` where it is in use, and
  /// what keeps a store from being looked at at all; what is wrong with it is in the examination.
  package static func examine(
    path: String, keySource: KeySource
  ) throws(StorageError) -> Examination {
    let owner = try own(path)
    defer { owner.release() }
    var inspector = try Inspector(path: path)
    try inspector.unlock(with: keySource)
    try inspector.inspectRows { _ in }
    return inspector.examination
  }

  /// What became of a salvage.
  package struct Salvage: Sendable, Equatable {
    package var examination: Examination
    /// How many credentials the new store has.
    package var copied: Int
  }

  /// Copies every credential that is authentic into a new store, which has the id of the old one and
  /// opens with the same key.
  ///
  /// The old one is not changed, and the new one takes no other's place: where there is one, this
  /// throws `conflict`. Throws as `examine` does, and when nothing can be read for want of the key
  /// or of what it opens; then nothing is made.
  package static func salvage(
    path: String, keySource: KeySource, to new: Options
  ) throws(StorageError) -> Salvage {
    let owner = try own(path)
    defer { owner.release() }
    // Also where it is this one, which is in use now.
    try refuseStore(at: new.path)
    var inspector = try Inspector(path: path)
    try inspector.unlock(with: keySource)
    if let error = inspector.examination.locked { throw error }
    guard let storeID = inspector.storeID else { throw .nothingToSalvage }

    try prepareDirectory(of: new.path)
    let newOwner = try OwnerLock(beside: new.path, orRefuseWith: .busy)
    defer { newOwner.release() }
    try refuseStore(at: new.path)
    var copied = 0
    try createStore(new, id: storeID) { database, keys, header throws(StorageError) in
      var copies = Copies(database: database, keys: keys, nonces: { new.nonces(1) })
      try inspector.inspectRows { row throws(StorageError) in try copies.keep(row) }
      copied = try copies.finish(&header)
      if copied == 0, inspector.examination.counted != 0 { throw .nothingToSalvage }
    }
    return Salvage(examination: inspector.examination, copied: copied)
  }

  /// Keeps every kistd from the store for as long as the lock is held.
  static func own(_ path: String) throws(StorageError) -> OwnerLock {
    try requireStore(at: path)
    return try OwnerLock(beside: path, orRefuseWith: .busy)
  }
}

extension StorageError {
  fileprivate static var nothingToSalvage: StorageError {
    .corrupt("nothing in the store can be read, and no new one was made")
  }
}
