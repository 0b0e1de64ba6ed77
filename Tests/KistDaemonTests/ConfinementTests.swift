import ArgumentParser
import CCalls
import CLinux
import Foundation
import KistCore
import KistServer
import KistSystem
import Logging
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `The confinement of the process` {
  @Test(arguments: RefusedCall.allCases)
  func `refuses a system call that nothing refused before`(_ call: RefusedCall) async {
    await #expect(processExitsWith: .success) { [call = call as RefusedCall] in
      let before = call.make()
      #expect(before != call.refusal)
      _ = try Confinement([.init(path: "/", rights: kist_may_read)], scopes: 0)
      let after = call.make()
      #expect(after == call.refusal, "before: \(before)")
    }
  }

  @Test func `reports success for a priority, and does not set it`() async {
    await #expect(processExitsWith: .success) {
      _ = try Confinement([.init(path: "/", rights: kist_may_read)], scopes: 0)
      let process = __priority_which_t(PRIO_PROCESS.rawValue)
      let before = getpriority(process, 0)
      #expect(setpriority(process, 0, before + 1) == 0)
      #expect(getpriority(process, 0) == before)
    }
  }

  @Test func `lets the process make threads, memory, sockets and files`() async throws {
    try await withDirectory { directory in
      await #expect(processExitsWith: .success) { [directory = directory as String] in
        _ = try Confinement([.init(path: directory, rights: kist_may_keep_files)], scopes: 0)
        await withCheckedContinuation { continuation in startThread { continuation.resume() } }
        let page = unsafe mmap(
          nil, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        #expect(unsafe page != MAP_FAILED && mprotect(page, 4096, PROT_NONE) == 0)
        var limit = rlimit()
        #expect(unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0)
        #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0)
        let listening = try listen(at: directory + "/s")
        #expect(isListenedOn(directory + "/s"))
        close(listening)
        let file = directory + "/a"
        try makeFile(file)
        #expect(unsafe truncate(file, 0) == 0 && link(file, file + "b") == 0)
        #expect(unsafe rename(file, file + "c") == 0 && unlink(file + "b") == 0)
        #expect(
          Set(try FileManager.default.contentsOfDirectory(atPath: directory)) == ["ac", "s"])
      }
    }
  }

  @Test(.needsLandlock, arguments: RefusedAccess.allCases)
  func `keeps the process from what is not its own`(_ access: RefusedAccess) async throws {
    try await withDirectory { directory in
      try FileManager.default.createDirectory(
        atPath: directory + "/own", withIntermediateDirectories: false)
      try FileManager.default.createDirectory(
        atPath: directory + "/other/empty", withIntermediateDirectories: true)
      for path in ["/other/file", "/own/file"] {
        try makeFile(directory + path)
      }
      await #expect(processExitsWith: .success) {
        [directory = directory as String, access = access as RefusedAccess] in
        let endpoints = try Endpoints()
        // A confined process cannot ask for it.
        let version = kist_landlock_version()
        #expect(access.attempt(directory, endpoints, "before") == 0)
        _ = try Confinement(
          [
            .init(path: directory + "/own", rights: kist_may_keep_files),
            .init(path: "/dev/urandom", rights: kist_may_read),
          ],
          scopes: kist_scope_of_abstract_sockets | kist_scope_of_signals)
        // A kernel may be older than one of the rules.
        if version >= access.version {
          #expect(access.attempt(directory, endpoints, "after") == access.refusal)
        }
      }
    }
  }

  @Test(.needsLandlock)
  func `of kistd leaves it its directories, and the files of /proc`() async throws {
    try await withDirectory { directory in
      await #expect(processExitsWith: .success) { [directory = directory as String] in
        let options = try Kistd.parse([]).options { ["HOME": directory][$0] }
        for path in [options.pinFile, options.storePath] {
          try FileManager.default.createDirectory(
            atPath: URL(filePath: path).deletingLastPathComponent().path,
            withIntermediateDirectories: true)
          try makeFile(path)
        }
        let outside = directory + "/outside"
        try makeFile(outside)
        let daemon = Daemon(
          options: options,
          open: { _ throws(StorageError) in throw .internal("never opened") },
          environment: { ["XDG_RUNTIME_DIR": directory][$0] }, logger: .kistd(level: .critical))
        let endpoints = try Endpoints()
        let outOfReach = [RefusedAccess.signalling, .connectingToAnAbstractSocket]
        let version = kist_landlock_version()
        for access in outOfReach { #expect(access.attempt(directory, endpoints, "before") == 0) }
        try daemon.confine()
        for access in outOfReach where version >= access.version {
          #expect(access.attempt(directory, endpoints, "after") == access.refusal)
        }
        func canOpen(_ path: String, _ flags: CInt) -> Bool {
          let descriptor = unsafe open(path, flags, 0o600)
          defer { close(descriptor) }
          return descriptor >= 0
        }
        #expect(canOpen(options.storePath, O_RDWR))
        #expect(canOpen(options.storePath + "-wal", O_RDWR | O_CREAT))
        #expect(canOpen(options.auditFile, O_RDWR | O_CREAT))
        #expect(canOpen("/proc/self/comm", O_RDONLY))
        #expect(canOpen(directory + "/kist/kist.sock.lock", O_RDWR | O_CREAT))
        #expect(!canOpen("/proc/self/mem", O_RDWR))
        #expect(!canOpen(outside, O_RDONLY))
        #expect(!canOpen(directory, O_RDONLY))
        #expect(!canOpen("/etc/passwd", O_RDONLY))
        #expect(!canOpen("/dev/tty", O_RDWR))
        #expect(!canOpen("/tmp/kist-\(getpid())", O_RDWR | O_CREAT))
      }
    }
  }

  @Test(.needsLandlock)
  func `of kistd leaves out a directory that is missing, and does not open the one above`()
    async throws
  {
    try await withDirectory { directory in
      let result = await #expect(
        processExitsWith: .success, observing: [\.standardErrorContent]
      ) { [directory = directory as String] in
        let options = try Kistd.parse(["--key-file", directory + "/absent/key"])
          .options { ["HOME": directory][$0] }
        // A former store, whose key is on a disk that is not mounted.
        for path in [options.pinFile, options.storePath] {
          #expect(makeDirectory(KistSystem.directory(of: path)))
          try makeFile(path)
        }
        try Daemon(
          options: options,
          open: { _ throws(StorageError) in throw .internal("never opened") },
          environment: { ["XDG_RUNTIME_DIR": directory][$0] }, logger: .kistd(level: .info)
        ).confine()
        #expect(unsafe mkdir(directory + "/absent", 0o700) != 0 && errno == EACCES)
        #expect(unsafe open(directory, O_RDONLY) < 0 && errno == EACCES)
      }
      let log = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      #expect(
        log == """
          kistd: info: paths are missing; restart kistd when they exist \
          paths=\(directory)/absent

          """)
    }
  }

  @Test(.needsLandlock)
  func `gives the hint to start kistd again where it refuses a file that the mode allows`()
    async throws
  {
    try await withDirectory { directory in
      try makeFile(directory + "/file")
      await #expect(processExitsWith: .success) { [directory = directory as String] in
        _ = try Confinement([.init(path: "/proc", rights: kist_may_read)], scopes: 0)
        for name in ["file", "new"] {
          let path = directory + "/" + name
          let failure = #expect(throws: UnfitFile.notOpened(EACCES)) {
            _ = try openOwnFile(path, O_RDWR | O_CREAT)
          }
          #expect(failure?.remedy(for: path).hasPrefix("restart kistd: ") == true)
        }
      }
    }
  }

  @Test(arguments: [(EPERM, "EPERM"), (EACCES, "EACCES")])
  func `names the error where a sandbox refuses it`(_ number: CInt, _ name: String) async {
    await #expect(processExitsWith: .success) { [number = number as CInt, name = name as String] in
      #expect(kist_forbid_new_privileges() == 0 && kist_refuse_confinement(number) == 0)
      let confinement = try Confinement([], scopes: 0)
      #expect("\(confinement.files)" == "not in force: refused (\(name))")
      #expect("\(confinement.calls)" == "not in force: refused (\(name))")
    }
  }

  @Test func `says that the kernel lacks it`() async {
    await #expect(processExitsWith: .success) {
      #expect(kist_forbid_new_privileges() == 0 && kist_refuse_confinement(ENOSYS) == 0)
      let confinement = try Confinement([], scopes: 0)
      #expect("\(confinement.files)" == "not in force: this kernel has no Landlock")
      #expect("\(confinement.calls)" == "not in force: this kernel has no seccomp filters")
    }
  }

  @Test(.needsLandlock) func `goes on without Landlock where 16 rule sets are nested`() async {
    await #expect(processExitsWith: .success) {
      for _ in 0..<16 { _ = nestRules() }
      let confinement = try Confinement([], scopes: 0)
      #expect(confinement.files == .refused("E2BIG"))
      #expect(confinement.calls == .inForce("seccomp"))
    }
  }

  @Test func `has the calls that the unit of systemd has`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let unit = try text(of: root.appending(path: "systemd/kistd.service").path)
    let list = try text(of: root.appending(path: "Sources/CLinux/calls.h").path)
    let filters = unit.split(separator: "\n").filter { $0.hasPrefix("SystemCallFilter=") }
    #expect(!filters.isEmpty)
    #expect(
      list.split(separator: "\n").filter { $0.hasPrefix("// SystemCallFilter=") }
        == filters.map { "// \($0)" })
  }
}

/// Adds rules for this thread that allow nothing.
private func nestRules() -> CInt {
  let version = kist_landlock_version()
  let rules = kist_landlock_rules(version, 0)
  defer { close(rules) }
  return kist_forbid_new_privileges() + kist_landlock_restrict(rules)
}

private func makeFile(_ path: String) throws {
  try "a".write(toFile: path, atomically: false, encoding: .utf8)
}
