internal import Glibc
// An app that uses kistd needs only one import.
@_exported public import KistCore
internal import KistSystem
package import KistWire

extension Endpoints {
  /// Returns functions that send their requests to the kistd that listens at a socket.
  ///
  /// The functions share some threads, each with one connection to kistd. Each watch has its own
  /// connection. If no kistd listens, the functions use the kistd that `find` returns.
  ///
  /// - Parameters:
  ///   - threads: The number of threads; with 0, there is one connection, and each request blocks
  ///     the calling thread.
  ///   - deadline: The time for a whole request, including the wait for a free connection.
  ///   - program: Returns the program for which the calling task makes a request. So one process,
  ///     such as kist-secret-service, can make requests for many programs over one connection.
  ///     kistd records the program in its audit log.
  ///   - wait: Waits for the reply to a short request on the event loop of the calling thread, without
  ///     blocking the thread.
  package static func remote(
    socketPath: String, threads: Int = 1, deadline: Duration = .seconds(60),
    orFind find: FindDaemon? = nil,
    onBehalfOf program: @escaping @Sendable () -> ClaimedProgram? = { nil },
    waiting wait: ReplyWait? = nil
  ) -> Endpoints {
    let lines = connect(
      to: socketPath, threads: threads, deadline: deadline, orFind: find, waiting: wait)
    return .remote(
      over: exchange(onBehalfOf: program, over: repeatingReads(exchange(over: lines))),
      openWatch(at: socketPath, deadline: deadline, orFind: find))
  }
}

extension UserStorage {
  /// Returns a storage whose requests go to the kistd at a socket.
  ///
  /// It has its own connection, which is made at the first request.
  public static func remote(socketPath: String) -> UserStorage {
    Endpoints.remote(socketPath: socketPath).credentials
  }

  /// Returns a storage whose requests go to this user's kistd.
  ///
  /// Throws if the environment variables give no valid path for the socket.
  public static func remote() throws(StorageError) -> UserStorage {
    .remote(socketPath: try SocketLocation.current().path)
  }
}

extension StorageAccess {
  /// Returns `status`, `lock` and `unlock` as functions whose requests go to the kistd at a socket.
  public static func remote(socketPath: String) -> StorageAccess {
    Endpoints.remote(socketPath: socketPath).access
  }

  /// Returns `status`, `lock` and `unlock` as functions whose requests go to this user's kistd.
  public static func remote() throws(StorageError) -> StorageAccess {
    .remote(socketPath: try SocketLocation.current().path)
  }
}

extension KeySlots {
  /// Returns functions for key slots whose requests go to the kistd at a socket.
  public static func remote(socketPath: String) -> KeySlots {
    Endpoints.remote(socketPath: socketPath).keySlots
  }
}

extension Backups {
  /// Returns functions for backups whose requests go to the kistd at a socket.
  public static func remote(socketPath: String) -> Backups {
    Endpoints.remote(socketPath: socketPath).backups
  }
}

extension WatchCredentials {
  /// Returns a function that starts watches at the kistd at a socket.
  ///
  /// Each watch has its own connection. If the connection is lost, for example because kistd ends,
  /// the changes end with an error. A later watch does not report the changes in between. No change
  /// was missed if the `position` of the later watch equals the revision of the last reported
  /// change.
  public static func remote(socketPath: String) -> WatchCredentials {
    .remote(over: openWatch(at: socketPath))
  }

  /// Returns a function that starts watches at this user's kistd.
  public static func remote() throws(StorageError) -> WatchCredentials {
    .remote(socketPath: try SocketLocation.current().path)
  }
}

extension SocketLocation {
  /// Returns the path at which this user's kistd listens, from the environment of this process.
  package static func current(
    environment: (String) -> String? = environmentVariable
  ) throws(StorageError) -> SocketLocation {
    let uid = geteuid()
    return try SocketLocation(environment: environment, uid: uid) { path in
      fileStatus(of: path).map { $0.isKind(S_IFDIR) && $0.st_uid == uid } ?? false
    }
  }

  /// Returns the path at which this user's kistd listens if KIST_SOCKET is not set.
  package static func usual(
    environment: (String) -> String? = environmentVariable
  ) throws(StorageError) -> SocketLocation {
    try current { $0 == "KIST_SOCKET" ? nil : environment($0) }
  }
}
