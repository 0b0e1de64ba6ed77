import Foundation

/// A program or a library that the keyring tests need.
package enum KeyringPart: CaseIterable, Sendable {
  case dbusDaemon, desktopPortal, gdbus, gnomeKeyring, keePassXC, pinentry, prompter, python,
    secretTool, xdotool, xvfb

  /// The required file, and the Debian package that installs it.
  private var files: [(path: String, package: String)] {
    switch self {
    case .dbusDaemon: [("/usr/bin/dbus-daemon", "dbus-daemon")]
    case .desktopPortal:
      [
        ("/usr/libexec/xdg-desktop-portal", "xdg-desktop-portal"),
        ("/usr/bin/bwrap", "bubblewrap"),
      ]
    case .gdbus: [("/usr/bin/gdbus", "libglib2.0-bin")]
    case .gnomeKeyring: [("/usr/bin/gnome-keyring-daemon", "gnome-keyring")]
    case .keePassXC:
      [("/usr/bin/keepassxc", "keepassxc"), ("/usr/bin/keepassxc-cli", "keepassxc")]
    case .pinentry: [("/usr/bin/pinentry-gtk-2", "pinentry-gtk2")]
    case .prompter: [("/usr/libexec/gcr-prompter", "gcr")]
    case .python:
      [
        ("/usr/bin/python3", "python3"),
        ("/usr/lib/python3/dist-packages/dbus", "python3-dbus"),
        ("/usr/lib/python3/dist-packages/gi", "python3-gi"),
        ("/usr/lib/python3/dist-packages/cryptography", "python3-cryptography"),
      ]
    case .secretTool: [("/usr/bin/secret-tool", "libsecret-tools")]
    case .xdotool: [("/usr/bin/xdotool", "xdotool")]
    case .xvfb: [("/usr/bin/Xvfb", "xvfb")]
    }
  }

  /// Returns the missing Debian packages for these parts, sorted by name.
  package static func missingPackages(for parts: [Self]) -> [String] {
    let missing = parts.flatMap(\.files).filter { !FileManager.default.fileExists(atPath: $0.path) }
    return Set(missing.map(\.package)).sorted()
  }
}
