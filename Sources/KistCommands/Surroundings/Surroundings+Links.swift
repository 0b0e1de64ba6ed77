internal import KistInterop
internal import KistSystem

extension Surroundings {
  /// The target of a link to kist, in shell syntax: the kist on PATH, or else this program.
  var linkTarget: String {
    path(of: "kist") == nil ? shellQuoted(program) : #""$(command -v kist)""#
  }

  /// Returns a hint for installing the program that a tool uses to ask kist, if it is not on PATH.
  func hint(atMissing name: String) -> String {
    let link = "`\(linkCommand(name, in: "~/.local/bin", to: linkTarget))`"
    let folder = environment("HOME").map { "\($0)/.local/bin" }
    if let folder, programDirectories(environment("PATH")).contains(folder) {
      return "make the link in a directory of PATH: \(link)"
    }
    let put = #"`export PATH="$HOME/.local/bin:$PATH"`, here and in ~/.profile"#
    if let folder, file("\(folder)/\(name)") != nil {
      return "it is in ~/.local/bin; put that into PATH: \(put)"
    }
    return "make the link: \(link); and put its directory into PATH: \(put)"
  }
}
