public import KistCore
package import KistWire

extension UserStorage {
  /// The credentials of the kistd that listens at a socket, over a connection of its own that is
  /// made when it is first needed.
  public static func remote(socketPath: String) -> UserStorage {
    .remote(over: exchange(over: connect(to: socketPath))).repeatingReads()
  }

  /// The same over so many connections, for who asks for much at once.
  package static func remote(socketPath: String, connections: Int) -> UserStorage {
    .remote(over: exchange(over: connect(to: socketPath, connections: connections)))
      .repeatingReads()
  }

  /// The credentials of this user's kistd.
  ///
  /// Throws when there is no place where its socket could be.
  public static func remote() throws(StorageError) -> UserStorage {
    .remote(socketPath: try SocketLocation.current().path)
  }
}

extension StorageAccess {
  /// The way in to the storage of the kistd that listens at a socket.
  public static func remote(socketPath: String) -> StorageAccess {
    .remote(over: exchange(over: connect(to: socketPath))).repeatingReads()
  }

  /// The way in to the storage of this user's kistd.
  public static func remote() throws(StorageError) -> StorageAccess {
    .remote(socketPath: try SocketLocation.current().path)
  }
}

extension KeySlots {
  /// The key slots of the storage of the kistd that listens at a socket.
  public static func remote(socketPath: String) -> KeySlots {
    .remote(over: exchange(over: connect(to: socketPath)))
  }
}

extension Backups {
  /// Backups of the storage of the kistd that listens at a socket.
  public static func remote(socketPath: String) -> Backups {
    .remote(over: exchange(over: connect(to: socketPath)))
  }
}

extension WatchCredentials {
  /// Watches the storage of the kistd that listens at a socket, each time over a connection of its own.
  ///
  /// The changes end with an error when that is lost, as at the end of kistd: who watches again then has
  /// missed what was changed meanwhile, unless the `position` is where the changes ended.
  public static func remote(socketPath: String) -> WatchCredentials {
    .remote(over: converse(with: socketPath))
  }

  /// Watches the storage of this user's kistd.
  public static func remote() throws(StorageError) -> WatchCredentials {
    .remote(socketPath: try SocketLocation.current().path)
  }
}

/// The audit log of the kistd that listens at a socket.
package func remoteAuditLog(socketPath: String) -> AuditLookup {
  remoteAuditLog(over: exchange(over: connect(to: socketPath)))
}

/// What the kistd that listens at a socket says of itself.
package func remoteHello(socketPath: String) -> HelloLookup {
  remoteHello(over: exchange(over: connect(to: socketPath)))
}
