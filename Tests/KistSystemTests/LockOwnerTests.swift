import Foundation
import KistSystem
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The owner of a lock` {
  @Test(
    arguments: [
      (LockOwner(pid: "7", isService: false), "pid 7", "stop it: `kill 7`"),
      (LockOwner(pid: nil, isService: false), "pid unknown", "stop it"),
      (
        LockOwner(pid: "7", isService: false, command: "rekey"), "`kistd rekey`, pid 7",
        "try again when it has ended"
      ),
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
      ("kistd\0rekey\0--data\0d\0", "rekey"), ("/usr/bin/kistd\0key-file\0add\0", "key-file"),
      ("kistd\0--data\0d\0", nil), ("kistd\0--\0kist\0list\0", nil), ("kistd\0", nil), ("", nil),
      ("sleep\0infinity\0", nil),
    ])
  func `runs the command that follows its program, if that is kistd`(
    words: String, command: String?
  ) {
    #expect(LockOwner.command(in: words) == command)
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
