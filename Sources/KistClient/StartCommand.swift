internal import Glibc
internal import KistSystem
internal import KistWire

/// Returns the command that starts a kistd on this machine that listens at a path.
///
/// The systemd unit listens only at the default path. So the command uses it only for that path,
/// and only on a machine that runs systemd: sd_booted(3). Otherwise, if KIST_SOCKET is set, the
/// command includes the path, because the variable may be set for one command only.
package func startCommand(
  for path: String, environment: (String) -> String? = environmentVariable,
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
