/// How a tool is told to ask kist.
package enum ToolSetup: Sendable, Equatable {
  /// A command of the tool's own does it.
  case command([String])
  /// A line in a file does it, which a person puts there.
  case line(String, file: String)
}

extension Tool {
  /// What makes this user's tool ask kist.
  package var setup: ToolSetup {
    switch self {
    case .git: .command(["git", "config", "--global", "credential.helper", "kist"])
    case .docker: .line(#"{"credsStore": "kist"}"#, file: "~/.docker/config.json")
    case .cargo:
      .line(
        #"registry.global-credential-providers = ["cargo:token", "cargo-credential-kist"]"#,
        file: "~/.cargo/config.toml, above its first [table]")
    }
  }
}
