/// A credential helper in git's configuration: gitcredentials(7).
struct GitHelperSetting {
  /// Where git found it: the user's files are `global`, those of a repository `local`, and the
  /// system configuration `system`.
  var scope: String
  var file: String
  /// `credential.helper`, or one for some URLs, such as `credential.https://github.com.helper`.
  var key: String
  var helper: String

  /// Reads a line of `git config --show-scope --show-origin --get-regexp`; `nil` unless it is a
  /// setting in a file.
  init?(_ line: String) {
    let parts = line.split(separator: "\t", maxSplits: 2).map(String.init)
    guard parts.count == 3, ["system", "global", "local", "worktree"].contains(parts[0]),
      parts[1].hasPrefix("file:"), let end = parts[2].firstRange(of: ".helper ")
    else { return nil }
    scope = parts[0]
    file = String(parts[1].dropFirst(5))
    key = parts[2][..<end.lowerBound] + ".helper"
    helper = String(parts[2][end.upperBound...])
  }

  /// Whether it is for every URL and every repository.
  var isGeneral: Bool { scope == "global" && key == "credential.helper" }

  /// Whether it keeps passwords by git's own means.
  var isPlain: Bool { ["store", "cache"].contains(helper.prefix { $0 != " " }) }

  /// The file with passwords, as git passes it to a shell; `nil` for `cache`.
  var passwords: String? {
    guard helper.hasPrefix("store") else { return nil }
    guard let option = helper.firstRange(of: "--file") else { return "~/.git-credentials" }
    return String(helper[option.upperBound...].drop { "= ".contains($0) })
  }
}

extension ToolSetup.Asked {
  /// The change of git's configuration after which git no longer asks `store` and `cache`.
  package struct TakingOut: Sendable, Equatable {
    /// The commands to run, one after another.
    package var commands: [[String]]
    /// The files with passwords in plain text, as git passes them to a shell.
    package var passwords: [String]
  }

  /// Returns the helpers for every URL in the lines that the command printed.
  package func helpers(in lines: [String]) -> [String] {
    lines.compactMap(GitHelperSetting.init).filter(\.isGeneral).map(\.helper)
  }

  /// Returns the system configuration because of which git also asks `store` or `cache`; `nil` for none.
  ///
  /// Only an administrator may change it. An empty helper in a file of the user makes git ignore it.
  package func systemFileWithPlainHelper(in lines: [String]) -> String? {
    let general = lines.compactMap(GitHelperSetting.init)
      .filter { $0.key == "credential.helper" && ["system", "global"].contains($0.scope) }
    let asked = general[(general.lastIndex(where: \.helper.isEmpty) ?? 0)...]
    return asked.first { $0.scope == "system" && $0.isPlain }?.file
  }

  /// Returns the change that takes `store` and `cache` out of all files, so that kist is asked.
  ///
  /// Returns `nil` if there are none, or if git asks a third helper and not kist.
  package func takingOut(of lines: [String], thenRunning setup: [String]) -> TakingOut? {
    let all = lines.compactMap(GitHelperSetting.init).filter { $0.scope != "system" }
    let plain = all.filter(\.isPlain)
    let kept = all.filter { $0.isGeneral && !$0.isPlain }.map(\.helper)
    guard !plain.isEmpty, kept.isEmpty || kept.contains(kist) else { return nil }
    var change = TakingOut(commands: [], passwords: [])
    for setting in plain {
      let command = [
        "git", "config", "--file", setting.file, "--unset-all", setting.key, "^(store|cache)( |$)",
      ]
      if !change.commands.contains(command) { change.commands.append(command) }
      if let file = setting.passwords, !change.passwords.contains(file) {
        change.passwords.append(file)
      }
    }
    if kept.isEmpty { change.commands.append(setup) }
    return change
  }
}
