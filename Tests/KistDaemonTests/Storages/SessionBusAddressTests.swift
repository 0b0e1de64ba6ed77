import Testing

@testable import KistDaemon

@Suite(.timeLimit(.minutes(10))) struct `The address of the session bus` {
  @Test(
    arguments: [
      ([:], nil),
      (["DBUS_SESSION_BUS_ADDRESS": "unix:abstract=x"], "unix:abstract=x"),
      (
        ["DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": "/run/user/1"],
        "unix:path=/run/user/1/bus"
      ),
      (["DBUS_SESSION_BUS_ADDRESS": "autolaunch:"], nil),
      (
        ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/a;autolaunch:scope=b;tcp:host=c"],
        "unix:path=/a;tcp:host=c"
      ),
      (
        ["DBUS_SESSION_BUS_ADDRESS": "autolaunch:", "XDG_RUNTIME_DIR": "/run/user/1"],
        "unix:path=/run/user/1/bus"
      ),
      (["XDG_RUNTIME_DIR": "/run/user/1"], "unix:path=/run/user/1/bus"),
      (["XDG_RUNTIME_DIR": "/a b;c=\u{e9}"], "unix:path=/a%20b%3bc%3d%c3%a9/bus"),
      (["XDG_RUNTIME_DIR": "relative"], nil),
      (["XDG_RUNTIME_DIR": "/without"], nil),
      (["DISPLAY": ":0"], nil),
      (["DBUS_SESSION_BUS_ADDRESS": "unix:path=/foreign/bus,guid=1"], nil),
      (
        ["DBUS_SESSION_BUS_ADDRESS": "unix:guid=1,path=/foreign%2fbus;unix:path=/a"], "unix:path=/a"
      ),
      (
        ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/foreign/bus", "XDG_RUNTIME_DIR": "/run/user/1"],
        "unix:path=/run/user/1/bus"
      ),
    ] as [([String: String], String?)])
  func `is the environment's, or that of the bus in XDG_RUNTIME_DIR, or none`(
    environment: [String: String], address: String?
  ) {
    #expect(
      sessionBusAddress(
        environment: { environment[$0] }, isSocket: { !$0.hasPrefix("/without") },
        isForeign: { $0 == "/foreign/bus" }) == address)
  }
}
