package import KistCore
package import KistWire

/// What `kist doctor` looks at.
package struct Checkup: Sendable {
  /// Where kistd listens.
  package var socket: String
  package var hello: HelloLookup
  package var access: StorageAccess
  package var surroundings: Surroundings

  package init(
    socket: String, hello: @escaping HelloLookup, access: StorageAccess,
    surroundings: Surroundings
  ) {
    self.socket = socket
    self.hello = hello
    self.access = access
    self.surroundings = surroundings
  }
}

extension Checkup {
  /// All that there is to say, what matters most first.
  func findings() async -> [Finding] {
    let status: Result<StorageStatus, StorageError>
    do throws(StorageError) { status = .success(try await access.status()) } catch {
      status = .failure(error)
    }
    let outlook = surroundings.outlook()
    return await [greeting()] + storageFindings(status, outlook) + surroundings.serviceFindings()
      + surroundings.fileFindings(socket: socket) + surroundings.programFindings()
  }

  private func greeting() async -> Finding {
    do throws(StorageError) {
      let hello = try await hello()
      let answer = "\(hello.version) answers at \(socket)"
      guard hello.version != KistVersion.current else { return Finding(.ok, "kistd", answer) }
      return Finding(
        .note, "kistd", "\(answer), and this is kist \(KistVersion.current)",
        hint: "start it anew: `systemctl --user restart kistd`")
    } catch { return Finding(error, about: "kistd") }
  }
}

extension Surroundings {
  /// What the kistd that stands beside this program, or is on PATH, would open.
  fileprivate func outlook() -> StorageOutlook? {
    daemonProgram.flatMap { lines([$0, "probe", "--json"]).first }.flatMap { StorageOutlook($0) }
  }
}
