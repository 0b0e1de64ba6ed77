internal import Glibc
internal import KistSystem
internal import KistWire

/// The command that starts a daemon on this machine which listens at a path.
///
/// The unit listens at the default path only, so it is named for no other; and only where systemd
/// runs the machine: sd_booted(3). A variable may be set for one command alone, and so the path is said.
package func startCommand(
  for path: String,
  environment: (String) -> String? = environmentVariable,
  exists: (String) -> Bool = { unsafe access($0, F_OK) == 0 }
) -> String {
  guard (environment("KIST_SOCKET") ?? "").isEmpty,
    (try? SocketLocation.current(environment: environment))?.path == path
  else {
    return "kistd --socket \(shellQuoted(path)) &"
  }
  let home = environment("HOME") ?? ""
  let unitFolders = [
    (environment("XDG_CONFIG_HOME") ?? home + "/.config") + "/systemd/user",
    (environment("XDG_DATA_HOME") ?? home + "/.local/share") + "/systemd/user",
    "/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user",
  ]
  let isInstalled =
    exists("/run/systemd/system") && unitFolders.contains { exists($0 + "/kistd.socket") }
  return isInstalled ? "systemctl --user start kistd.socket" : "kistd &"
}
