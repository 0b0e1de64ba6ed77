internal import KistCore
internal import KistSystem

/// The files that make the session bus start kist-secret-service for the first client.
///
/// The second name belongs to kist alone. By it, kistd knows that the first one is kist's own, and
/// does not start it to keep credentials there. By the third one, and by its own file,
/// xdg-desktop-portal finds kist.
struct ActivationFiles {
  static let portal = "org.freedesktop.impl.portal.desktop.kist"
  static let names = [
    "org.freedesktop.secrets.service", "io.kist.SecretService.service", "\(portal).service",
    "kist.portal",
  ]
  static let program = "kist-secret-service"

  /// What is stored at the path of a file.
  enum State: Equatable {
    case missing
    /// The file that kist would write now.
    case current
    /// A file that kist wrote with another program or unit.
    case outdated
    /// A file that kist did not write.
    case foreign
    /// A file that kist does not read, for this reason.
    case unreadable(String)
  }

  /// The directory of the user's data.
  let data: String
  /// The path of kist-secret-service.
  let program: String
  /// Whether systemd has a unit for it.
  let hasUnit: Bool

  func path(of name: String) -> String {
    name.hasSuffix(".portal")
      ? "\(data)/xdg-desktop-portal/portals/\(name)" : "\(data)/dbus-1/services/\(name)"
  }

  func text(of name: String) -> String {
    Self.text(of: name, program: program, hasUnit: hasUnit)
  }

  private static let heading =
    "# Written by `kist setup secret-service --apply`; `kist setup secret-service --undo` removes it.\n"

  private static func text(of name: String, program: String, hasUnit: Bool) -> String {
    guard name.hasSuffix(".service") else {
      // Without UseIn, xdg-desktop-portal before 1.17 ignores the file. No desktop has the name.
      return heading + """
        [portal]
        DBusName=\(portal)
        Interfaces=org.freedesktop.impl.portal.Secret
        UseIn=kist

        """
    }
    return heading + """
      [D-BUS Service]
      Name=\(name.dropLast(".service".count))
      Exec=\(program)
      \(hasUnit ? "SystemdService=kist-secret-service.service\n" : "")
      """
  }

  func state(of name: String, in host: Host) -> State {
    switch host.homeFile(path(of: name), 4096) {
    case .missing: return .missing
    case .refused(let reason): return .unreadable(reason)
    case .text(let secret, _):
      let text = secret.withBytes { String(repairing: $0) }
      if text == self.text(of: name) { return .current }
      return Self.isWritten(text, name) ? .outdated : .foreign
    }
  }

  /// Returns whether kist wrote a file, with any program.
  private static func isWritten(_ text: String, _ name: String) -> Bool {
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("Exec=") }) else {
      return false
    }
    let program = String(line.dropFirst("Exec=".count))
    return [true, false].contains {
      text == Self.text(of: name, program: program, hasUnit: $0)
    }
  }
}

extension Host {
  /// The path of kist-secret-service: beside this program, or else on PATH.
  var secretServiceProgram: String? {
    let sibling = directory(of: program) + "/" + ActivationFiles.program
    return file(sibling) == nil ? path(of: ActivationFiles.program) : sibling
  }

  /// The directory of the user's data: XDG Base Directory Specification.
  var dataHome: String? {
    if let path = environment("XDG_DATA_HOME"), path.hasPrefix("/") { return path }
    return environment("HOME").map { $0.appendingPath(".local/share") }
  }

  /// The file by which the session bus starts another program that provides a keyring.
  var otherKeyringFile: String? {
    let variable = environment("XDG_DATA_DIRS") ?? ""
    let directories = variable.isEmpty ? "/usr/local/share:/usr/share" : variable
    return directories.split(separator: ":")
      .map { "\($0)/dbus-1/services/\(ActivationFiles.names[0])" }.first { file($0) != nil }
  }

  /// Returns the files for this user; throws if there is no program or no directory for them.
  func activationFiles() throws(StorageError) -> ActivationFiles {
    guard let program = secretServiceProgram else {
      throw .refused(
        "there is no kist-secret-service next to kist or on PATH", as: .unavailable,
        hint: "the Debian package and `make install` have it; the tarball does not")
    }
    guard program.utf8.allSatisfy({ isPlainInPath($0) }) else {
      throw .refused(
        "the path of kist-secret-service has a character that D-Bus would read as something else",
        hint: "install it at a path of letters, digits and /._@+-")
    }
    guard let data = dataHome else {
      throw .refused("HOME is not set, so there is no place for the files", hint: "set HOME")
    }
    let unit = systemctl(["is-enabled", "kist-secret-service.service"]).first
    return ActivationFiles(
      data: data, program: program,
      hasUnit: unit.map { !["not-found", "masked"].contains($0) } ?? false)
  }
}

private func isPlainInPath(_ byte: UInt8) -> Bool {
  switch Unicode.Scalar(byte) {
  case "a"..."z", "A"..."Z", "0"..."9", "/", ".", "_", "@", "+", "-": true
  default: false
  }
}
