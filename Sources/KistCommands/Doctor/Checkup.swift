internal import KistCore
internal import KistWire

/// The inputs of `kist doctor`.
struct Checkup: Sendable {
  /// The path of kistd's socket.
  var socket: String
  var kistd: Endpoints
  var host: Host
}

extension Checkup {
  /// Returns all findings, the most important first.
  func findings() async -> [Finding] {
    let status: Result<StorageStatus, StorageError>
    do throws(StorageError) { status = .success(try await kistd.access.status()) } catch {
      status = .failure(error)
    }
    let greeting = await greeting()
    return await [greeting]
      + storageFindings(
        status, kistdAnswers: greeting.state.code == nil, host.diagnosis(),
        whyLocked: whyLocked(status))
      + host.serviceFindings()
      + host.fileFindings(socket: socket) + host.programFindings()
  }

  /// Returns the error that explains why the storage is locked: its key may be missing.
  private func whyLocked(_ status: Result<StorageStatus, StorageError>) async -> StorageError? {
    guard case .success(let status) = status, status.isLocked else { return nil }
    do throws(StorageError) { try await kistd.credentials.checkIsOpen() } catch { return error }
    return nil
  }

  private func greeting() async -> Finding {
    do throws(StorageError) {
      let hello = try await kistd.hello()
      let answer = "\(hello.version) answers at \(socket)"
      guard hello.version != KistVersion.current else { return Finding(.ok, "kistd", answer) }
      return Finding(
        .note, "kistd", "\(answer), and this is kist \(KistVersion.current)",
        hint: "start it again: `systemctl --user restart kistd`")
    } catch { return Finding(error, about: "kistd") }
  }
}

extension Host {
  /// Returns what the kistd beside this program, or else on PATH, would open.
  fileprivate func diagnosis() -> StorageDiagnosis? {
    daemonProgram.flatMap { lines([$0, "probe", "--json"]).first }.flatMap { StorageDiagnosis($0) }
  }
}
