internal import KistCore
internal import KistInterop
internal import KistSystem

extension Surroundings {
  /// Returns the findings about which program each name runs.
  func programFindings() -> [Finding] {
    var findings = [Finding(.ok, "kist", "\(KistVersion.current), \(program)")]
    if let other = other("kist") {
      findings[0] = Finding(
        .note, "kist", "\(KistVersion.current), \(program); by the name of kist, \(other) is run",
        hint: "put the directory of the right one first in PATH, or remove the other")
    }
    if daemonProgram == nil {
      findings.append(
        Finding(
          .note, "kistd", "there is none beside kist or on PATH",
          hint: "install it where kist is"))
    }
    for path in [program, daemonProgram] {
      if let finding = path.flatMap(finding(ofReadable:)) { findings.append(finding) }
    }
    for tool in Tool.allCases {
      if let finding = finding(of: tool) { findings.append(finding) }
    }
    return findings
  }

  /// Returns a finding for a program that its user can read: its memory is readable while it
  /// starts.
  private func finding(ofReadable path: String) -> Finding? {
    guard uid != 0, let program = file(path) else { return nil }
    let isOwn = program.owner == uid
    guard program.mode & (isOwn ? 0o400 : 0o044) != 0 else { return nil }
    let command = (isOwn ? "chmod 111 " : "sudo chmod 711 ") + shellQuoted(path)
    return Finding(
      .note, "programs",
      "you can read \(path), so your other programs can open its memory while it starts",
      hint: "make it unreadable: `\(command)`, then start it again")
  }

  private func finding(of tool: Tool) -> Finding? {
    // A different tool of that name is widely known.
    guard tool != .keyring, let name = tool.program else { return nil }
    if let other = other(name) {
      return Finding(
        .note, tool.rawValue, "it asks \(other), which is another program than this kist",
        hint: "make it a symbolic link to \(program), or remove it")
    }
    guard let asked = tool.setup(linkingTo: linkTarget).asked,
      lines(asked.command).contains(asked.kist), path(of: name) == nil
    else { return nil }
    return Finding(
      .note, tool.rawValue, "it is set to ask kist, but there is no \(name) on PATH",
      hint: hint(atMissing: name))
  }

  /// Returns the program that a name runs; `nil` if it is this program or none.
  private func other(_ name: String) -> String? {
    guard let found = path(of: name), let own = file(program), file(found) != own else {
      return nil
    }
    return found
  }
}
