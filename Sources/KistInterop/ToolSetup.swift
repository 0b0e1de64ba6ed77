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
    case .aws:
      .line("credential_process = kist helper aws NAME", file: "~/.aws/config, in a [profile]")
    case .kubectl:
      .line(
        "kubectl config set-credentials NAME --exec-api-version=client.authentication.k8s.io/v1 "
          + "--exec-interactive-mode=Never --exec-command=kist "
          + "--exec-arg=helper --exec-arg=kubectl --exec-arg=NAME",
        file: "a shell, with your user of the kubeconfig as NAME")
    case .terraform: .line(#"credentials_helper "kist" {}"#, file: "~/.terraformrc")
    case .keyring: .command(["pip", "config", "set", "global.keyring-provider", "subprocess"])
    case .askpass:
      .line(
        "export SSH_ASKPASS=kist-askpass SSH_ASKPASS_REQUIRE=force "
          + "KIST_ASKPASS=kist://SERVICE/ACCOUNT",
        file: "a shell, for the commands that are to ask for this one credential")
    }
  }
}
