import CLinux
import Foundation
import KistCore
import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `The hardening of the process` {
  @Test func `there is no core file, and files are for this user alone`() async {
    await #expect(processExitsWith: .success) {
      _ = try Hardening.apply()
      var limit = rlimit()
      unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
      if limit.rlim_cur != 0 { exit(1) }
      if umask(0) != 0o077 { exit(2) }
    }
  }

  @Test(arguments: [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGQUIT])
  func `a crash prints neither registers nor memory`(_ number: CInt) async throws {
    let result = await #expect(
      processExitsWith: .signal(number), observing: [\.standardErrorContent]
    ) { [number = number as CInt] in
      // Like the handler of Swift's runtime, which is not there in every process.
      signal(number) { _ in unsafe write(STDERR_FILENO, "registers", 9) }
      _ = try Hardening.apply()
      raiseUnblocked(number)
    }
    let log = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(!log.contains("registers"), "\(log)")
  }

  @Test func `a signal that is ignored stays ignored`() async {
    await #expect(processExitsWith: .success) {
      signal(SIGQUIT, SIG_IGN)
      _ = try Hardening.apply()
      raiseUnblocked(SIGQUIT)
    }
  }

  @Test func `closed standard descriptors are taken, but not for a command`() async {
    await #expect(processExitsWith: .success) {
      for descriptor in CInt(0)...2 { close(descriptor) }
      _ = try Hardening.apply()
      for descriptor in CInt(0)...2 where fcntl(descriptor, F_GETFD) != FD_CLOEXEC { exit(1) }
      let next = unsafe open("/dev/null", O_RDONLY)
      if next <= 2 { exit(2) }
    }
  }

  @Test(arguments: [
    ("/a b/ü", "/a b/ü"), ("/a\nkistd: info: forged", "/a\\u{a}kistd: info: forged"),
    ("\r\n\t\u{1B}[2J\u{7F}\u{85}", "\\u{d}\\u{a}\\u{9}\\u{1b}[2J\\u{7f}\\u{85}"),
    ("\u{2028}\u{202E}", "\\u{2028}\\u{202e}"), ("a\u{E0002}b", "a\\u{e0002}b"),
  ])
  func `a value in the log makes no line of its own`(text: String, line: String) {
    #expect(visible(text) == line)
  }

  @Test func `writing to a client that has gone is an error, and does not end the process`() async {
    await #expect(processExitsWith: .success) {
      _ = try Hardening.apply()
      let pipe = Pipe()
      try pipe.fileHandleForReading.close()
      let result = unsafe write(pipe.fileHandleForWriting.fileDescriptor, "x", 1)
      if result != -1 || errno != EPIPE { exit(1) }
    }
  }

  @Test func `other processes of the same user cannot read the memory`() async {
    await #expect(processExitsWith: .success) {
      // The files in /proc of a process that is not dumpable belong to root (proc(5)), which shows
      // when the process does not.
      if getuid() == 0, setuid(65534) != 0 { exit(1) }
      var status = stat()
      kist_set_dumpable(1)
      unsafe lstat("/proc/thread-self/mem", &status)
      if status.st_uid != getuid() { exit(2) }
      _ = try Hardening.apply()
      unsafe lstat("/proc/thread-self/mem", &status)
      if status.st_uid != 0 { exit(3) }
    }
  }

  @Test func `a command gets the limits back that kistd was started with`() async {
    await #expect(processExitsWith: .success) {
      umask(0o027)
      let previous = try Hardening.apply()
      let lifted = Hardening.lifted(previous) { umask(0o027) }
      if lifted != 0o027 { exit(1) }
      if umask(0) != 0o077 { exit(2) }
    }
  }

  @Test func `memory may be locked up to the hard limit, but not by a command`() async {
    await #expect(processExitsWith: .success) {
      setLockedMemoryLimit(rlimit(rlim_cur: 4096, rlim_max: 65536))
      let previous = try Hardening.apply()
      if lockedMemoryLimit() != 65536 { exit(1) }
      if Hardening.lifted(previous, lockedMemoryLimit) != 4096 { exit(2) }
      if lockedMemoryLimit() != 65536 { exit(3) }
    }
  }
}

private let lockedMemory = __rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue)

private func setLockedMemoryLimit(_ limit: rlimit) {
  var limit = limit
  unsafe setrlimit(lockedMemory, &limit)
}

/// The soft limit.
private func lockedMemoryLimit() -> rlim_t {
  var limit = rlimit()
  unsafe getrlimit(lockedMemory, &limit)
  return limit.rlim_cur
}

/// Sends this thread a signal that the tasks' threads would keep pending.
private func raiseUnblocked(_ number: CInt) {
  var none = sigset_t()
  unsafe sigemptyset(&none)
  unsafe pthread_sigmask(SIG_SETMASK, &none, nil)
  raise(number)
}
