internal import KistCore
internal import KistInterop
internal import KistSystem

extension Surroundings {
  /// Which programs are run by which names.
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
    for tool in Tool.allCases {
      if let finding = finding(of: tool) { findings.append(finding) }
    }
    return findings
  }

  private func finding(of tool: Tool) -> Finding? {
    // By that name a tool of its own is known to nearly everybody.
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
      .note, tool.rawValue, "it is to ask kist, and there is no \(name) on PATH",
      hint: hint(atMissing: name))
  }

  /// What is run by a name that should be this program's; `nil` where it is this one, or nothing.
  private func other(_ name: String) -> String? {
    guard let found = path(of: name), let own = file(program), file(found) != own else {
      return nil
    }
    return found
  }
}
