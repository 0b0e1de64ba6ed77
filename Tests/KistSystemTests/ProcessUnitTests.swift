import KistSystem
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The unit of a process` {
  private static let manager = "/user.slice/user-1000.slice/user@1000.service"

  @Test(arguments: [
    ("/app.slice/app.service", "app.service"),
    ("/app.slice/app-web.slice/app@one.service", "app@one.service"),
    ("/app.slice/app\\x2dweb.service", "app\\x2dweb.service"), ("/init.scope", "init.scope"),
    ("/app.service", "app.service"),
    // Groups of a unit, which it names.
    ("/app.slice/app.service/.control", "app.service"),
    ("/app.slice/app.service/delegated/group", "app.service"),
    ("/app.slice/evil.service/victim.service", "evil.service"),
    ("/app.slice/evil.service/app.slice/victim.service", "evil.service"),
    ("/app.slice/evil.service/group/victim.service", "evil.service"),
    // A container with a systemd of its own.
    (
      "/app.slice/podman-1.scope/user.slice/user-1000.slice/user@1000.service/app.slice/victim.service",
      "podman-1.scope"
    ),
    ("/user.slice/podman.service/user@1000.service/victim.service", "podman.service"),
    // Names that the kernel could use have an underscore before them.
    ("/app.slice/_memory.service", "memory.service"),
    ("/app.slice/__memory.service", "_memory.service"),
    ("/_cpu.slice/_cgroup.service/group", "cgroup.service"),
  ])
  func `is the first one below the slices of the user's manager`(group: String, name: String) {
    #expect(
      ProcessUnit(cgroup: "0::\(Self.manager)\(group)\n")
        == ProcessUnit(name: name, userManager: "user@1000.service"))
  }

  @Test(arguments: [
    ("/system.slice/ssh.service", "ssh.service"),
    ("/system.slice/evil.service/victim.service", "evil.service"),
    ("/system.slice/docker.service/user@1000.service/victim.service", "docker.service"),
    (
      "/machine.slice/machine-a.scope/user.slice/user@1000.service/victim.service",
      "machine-a.scope"
    ),
    ("/user.slice/user-1000.slice/session-2.scope", "session-2.scope"),
    ("/user.slice/user-1000.slice/session-2.scope/victim.service", "session-2.scope"),
    ("/init.scope", "init.scope"),
  ])
  func `is one of the system's manager elsewhere`(group: String, name: String) {
    #expect(ProcessUnit(cgroup: "0::\(group)\n") == ProcessUnit(name: name))
  }

  @Test(arguments: [
    "", "/app.slice", "/app.slice/group/victim.service", "/app.slice/.service/victim.service",
    "/app.slice/\u{e9}.slice/victim.service", "/app.slice/a b.service",
    "/app.slice/app.service (deleted)",
  ])
  func `is the user's manager where a group that is not a unit comes first`(group: String) {
    #expect(
      ProcessUnit(cgroup: "0::\(Self.manager)\(group)\n") == ProcessUnit(name: "user@1000.service"))
  }

  @Test(arguments: [
    "", "0::/\n", "0::/user.slice\n", "0::/group/victim.service\n", "0::/.slice/victim.service\n",
    "0::/../user@1000.service/victim.service\n", "1:name=systemd:/victim.service\n",
    "12:cpu:/user@1000.service/victim.service\n0::/\n", "user@1000.service/victim.service\n",
  ])
  func `is nil if the unified hierarchy has none`(cgroup: String) {
    #expect(ProcessUnit(cgroup: cgroup) == nil)
  }

  @Test func `is read from the line of the unified hierarchy`() {
    #expect(
      ProcessUnit(cgroup: "1:name=systemd:/else.service\n0::/system.slice/app.service\n")
        == ProcessUnit(name: "app.service"))
  }
}
