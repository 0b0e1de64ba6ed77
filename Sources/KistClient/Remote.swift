public import KistCore
package import KistWire

extension UserStorage {
  /// Returns the credentials of the kistd that listens at a socket.
  ///
  /// It uses a connection of its own, which is made at the first request.
  public static func remote(socketPath: String) -> UserStorage {
    .remote(over: exchange(over: connect(to: socketPath))).repeatingReads()
  }

  /// Returns the same over several connections, for callers with many parallel requests.
  package static func remote(socketPath: String, connections: Int) -> UserStorage {
    .remote(over: exchange(over: connect(to: socketPath, connections: connections)))
      .repeatingReads()
  }

  /// Returns the credentials of this user's kistd.
  ///
  /// Throws if there is no possible place for its socket.
  public static func remote() throws(StorageError) -> UserStorage {
    .remote(socketPath: try SocketLocation.current().path)
  }
}

extension StorageAccess {
  /// Returns the access (status, lock, unlock) to the storage of the kistd that listens at a
  /// socket.
  public static func remote(socketPath: String) -> StorageAccess {
    .remote(over: exchange(over: connect(to: socketPath))).repeatingReads()
  }

  /// Returns the access to the storage of this user's kistd.
  public static func remote() throws(StorageError) -> StorageAccess {
    .remote(socketPath: try SocketLocation.current().path)
  }
}

extension KeySlots {
  /// Returns the key slots of the storage of the kistd that listens at a socket.
  public static func remote(socketPath: String) -> KeySlots {
    .remote(over: exchange(over: connect(to: socketPath)))
  }
}

extension Backups {
  /// Returns the backups of the storage of the kistd that listens at a socket.
  public static func remote(socketPath: String) -> Backups {
    .remote(over: exchange(over: connect(to: socketPath)))
  }
}

extension WatchCredentials {
  /// Returns watches of the storage of the kistd that listens at a socket.
  ///
  /// Each watch uses a connection of its own. When the connection is lost, for example because
  /// kistd ends, the changes end with an error. The next watch misses the changes made in between,
  /// unless its `position` is where the earlier changes ended.
  public static func remote(socketPath: String) -> WatchCredentials {
    .remote(over: converse(with: socketPath))
  }

  /// Returns watches of the storage of this user's kistd.
  public static func remote() throws(StorageError) -> WatchCredentials {
    .remote(socketPath: try SocketLocation.current().path)
  }
}

extension AuditAccess {
  /// Returns the audit log of the kistd that listens at a socket.
  package static func remote(socketPath: String) -> AuditAccess {
    .remote(over: exchange(over: connect(to: socketPath)))
  }
}

/// Returns a function that asks the kistd at a socket for its version and features.
package func remoteHello(socketPath: String) -> HelloLookup {
  remoteHello(over: exchange(over: connect(to: socketPath)))
}
