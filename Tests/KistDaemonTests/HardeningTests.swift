import CLinux
import Foundation
import Testing

@testable import KistDaemon

@Suite struct `The hardening of the process` {
  @Test func `there is no core file, and files are for this user alone`() async {
    await #expect(processExitsWith: .success) {
      _ = try Hardening.apply()
      var limit = rlimit()
      unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
      if limit.rlim_cur != 0 { exit(1) }
      if umask(0) != 0o077 { exit(2) }
    }
  }

  @Test func `writing to a client that has gone is an error and not the end`() async {
    await #expect(processExitsWith: .success) {
      _ = try Hardening.apply()
      let pipe = Pipe()
      try pipe.fileHandleForReading.close()
      let result = unsafe write(pipe.fileHandleForWriting.fileDescriptor, "x", 1)
      if result != -1 || errno != EPIPE { exit(1) }
    }
  }

  @Test func `no process of the same user may look into the memory`() async {
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
}
