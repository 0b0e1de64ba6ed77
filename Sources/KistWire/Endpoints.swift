package import KistCore

/// The functions of one kistd, at either end of a connection.
package struct Endpoints: Sendable {
  package var credentials: UserStorage
  package var access: StorageAccess
  package var keySlots: KeySlots
  package var backups: Backups
  package var audit: AuditAccess
  package var watch: WatchCredentials
  package var hello: HelloLookup

  package init(
    _ credentials: UserStorage, _ access: StorageAccess, _ keySlots: KeySlots = .none,
    _ backups: Backups = .none, audit: AuditAccess = .none, watch: WatchCredentials = .none,
    hello: @escaping HelloLookup
  ) {
    self.credentials = credentials
    self.access = access
    self.keySlots = keySlots
    self.backups = backups
    self.audit = audit
    self.watch = watch
    self.hello = hello
  }

  /// Returns the functions of a kistd that serves a storage.
  package init(serving storage: OpenStorage, audit: AuditAccess = .none) {
    let hello = Hello(version: KistVersion.current, durability: storage.durability)
    self.init(
      storage.credentials, storage.access, storage.keySlots, storage.backups, audit: audit,
      watch: storage.watch, hello: { () throws(StorageError) in hello })
  }

  /// Returns the functions of the kistd at the other end of a connection.
  ///
  /// - Parameters:
  ///   - exchange: sends a request, and returns its reply.
  ///   - converse: sends the request of a watch, over a connection of its own.
  package static func remote(
    over exchange: @escaping Exchange,
    _ converse: @escaping Conversation = { _ throws(StorageError) in
      throw .badRequest("this connection cannot be watched")
    }
  ) -> Endpoints {
    let load = Operation.load.called(over: exchange)
    return Endpoints(
      UserStorage(
        save: Operation.save.called(over: exchange),
        load: { request throws(StorageError) in try await load(Encoded(request)).value },
        delete: Operation.delete.called(over: exchange),
        find: Operation.find.called(over: exchange)),
      StorageAccess(
        status: Operation.status.called(over: exchange),
        lock: Operation.lock.called(over: exchange),
        unlock: Operation.unlock.called(over: exchange)),
      KeySlots(
        list: Operation.slots.called(over: exchange),
        add: Operation.slotAdd.called(over: exchange),
        remove: Operation.slotRemove.called(over: exchange)),
      Backups(
        make: Operation.backup.called(over: exchange),
        read: Operation.backupPart.called(over: exchange)),
      audit: AuditAccess(
        find: Operation.audit.called(over: exchange),
        verify: Operation.auditVerify.called(over: exchange)),
      watch: .remote(over: converse),
      hello: Operation.hello.called(over: exchange))
  }
}
