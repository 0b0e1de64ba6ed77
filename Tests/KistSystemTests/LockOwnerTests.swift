import Foundation
import KistSystem
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The owner of a lock` {
  @Test(
    arguments: [
      (LockOwner(pid: "7", isService: false), "pid 7", "stop it: `kill 7`"),
      (LockOwner(pid: nil, isService: false), "pid unknown", "stop it"),
      (
        LockOwner(pid: "7", isService: true), "pid 7",
        "stop it: `systemctl --user stop kistd.socket kistd-credentials.socket kistd.service`"
      ),
    ])
  func `has one command that stops it`(owner: LockOwner, description: String, stop: String) {
    #expect("\(owner)" == description)
    #expect(owner.stop == stop)
  }

  @Test(
    arguments: [
      ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/kistd.service\n", true),
      ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/other.service\n", false),
      ("0::/user.slice/user-1000.slice/session-4.scope\n", false),
      ("0::/system.slice/kistd.service\n", false), ("", false),
    ])
  func `is the user service if its group says so`(groups: String, isService: Bool) {
    #expect(LockOwner.isService(cgroup: groups) == isService)
  }

  @Test func `is read from the beginning of the lock's file`() throws {
    let file = try unsafe #require(unsafe tmpfile())
    defer { unsafe fclose(file) }
    let descriptor = unsafe fileno(file)
    #expect(LockOwner(of: descriptor) == LockOwner(pid: nil, isService: false))
    #expect(writeLockText("\(getpid()) boot\n", to: descriptor))
    #expect(LockOwner(of: descriptor).pid == "\(getpid())")
  }
}
