internal import Glibc
internal import KistCore
internal import Logging

extension Daemon {
  /// Opens the storage, or returns one that answers every request with the error.
  ///
  /// Without a passed socket, it throws instead and kistd ends, which informs the user. The clients
  /// of a passed socket learn about the error only from an answer.
  func openToServe() async throws(StorageError) -> OpenStorage {
    do throws(StorageError) { return try await open() } catch {
      guard sockets.requests != nil else { throw error }
      return failing(error)
    }
  }

  private func failing(_ error: StorageError) -> OpenStorage {
    logger.error(
      "cannot open the storage; every request is answered so",
      metadata: ["reason": "\(error)", "hint": "\(error.hint ?? "")"])
    return .failing(error)
  }

  /// Opens the storage again as at a start, unless that needs the user or undoes a user's action.
  func reopen(_ storage: Leased<Served>, _ audit: AuditLog?) async {
    await storage.replace { served in
      if let status = try? await served.storage.access.status(), !status.reopensByItself {
        logger.notice("kept the storage as it is: only an interactive user can open it again")
        return served
      }
      await served.storage.close()
      do throws(StorageError) { return await Served(try await open(), audit) } catch {
        return await Served(failing(error), audit)
      }
    }
  }

  /// Returns whether the next kistd would find everything as it is now.
  func mayExit(_ storage: Leased<Served>) async -> Bool {
    let status = await storage.use { try? await $0.storage.access.status() }
    return status?.reopensByItself ?? false
  }

  func logServing(_ storage: Leased<Served>, at socket: DaemonSocket) async {
    let reason = await storage.use { $0.storage.reason }
    logger.info(
      "serving", metadata: ["reason": "\(reason ?? "")", "socket": "\(socket.path)"])
    logger.debug(
      "opened", metadata: ["data": "\(options.dataDirectory)", "pid": "\(getpid())"])
  }

  func notifyStatus(_ storage: Leased<Served>) async throws {
    // A provider that does not answer must not prevent stopping.
    let summary = try await untilCancelled {
      await storage.use { await $0.storage.access.summary() }
    }
    if let summary { manager.notify(.status(summary)) }
  }
}

extension StorageStatus {
  /// Whether opening it again leads to the same state; a locked storage needs the user.
  fileprivate var reopensByItself: Bool { !isLocked && reopensAtRestart }
}

extension OpenStorage {
  /// Returns a storage that answers every request with the error that prevented its opening.
  static func failing(_ error: StorageError) -> OpenStorage {
    var storage = OpenStorage(
      credentials: .failing(error),
      access: StorageAccess(
        status: { () throws(StorageError) in throw error },
        lock: { () throws(StorageError) in throw error },
        unlock: { _ throws(StorageError) in throw error }),
      reason: error.message, durability: .unknown, close: {})
    storage.keySlots = .failing(error)
    storage.backups = .failing(error)
    storage.watch = .failing(error)
    return storage
  }
}
