extension Surroundings {
  /// Returns whether systemd starts kistd and keeps it running; nothing without systemd.
  func serviceFindings() -> [Finding] {
    guard file("/run/systemd/system") != nil else { return [] }
    switch lines(["systemctl", "--user", "is-enabled", "kistd.socket"]).first {
    case "enabled":
      return [Finding(.ok, "service", "systemd starts kistd for the first client"), lingering]
    case "disabled":
      return [
        Finding(
          .note, "service", "systemd does not start kistd",
          hint: "have it do so: `systemctl --user enable --now kistd.socket`")
      ]
    default:
      return [
        Finding(
          .note, "service", "kistd is not known to the systemd of this user",
          hint: "`kistd -- COMMAND` serves for one command")
      ]
    }
  }

  /// Without lingering, a user's processes end with the last session (loginctl(1)).
  private var lingering: Finding {
    if let user, file("/var/lib/systemd/linger/\(user)") != nil {
      return Finding(.ok, "linger", "kistd can run without a session")
    }
    let message = "kistd ends with the last session of this user"
    // On a desktop this is normal.
    let isAtDesk = ["x11", "wayland"].contains(environment("XDG_SESSION_TYPE") ?? "")
    return isAtDesk
      ? Finding(.ok, "linger", message)
      : Finding(
        .note, "linger", message, hint: "on a server, keep it running: `loginctl enable-linger`")
  }
}
