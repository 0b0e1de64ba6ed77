package import KistCore

/// How a tool is told to ask kist.
package struct ToolSetup: Sendable, Equatable {
  /// What a person puts into a file, or says to a shell.
  package struct Line: Sendable, Equatable {
    package var text: String
    package var place: String
  }

  /// What the tool asks already.
  package struct Asked: Sendable, Equatable {
    /// The command of the tool that prints it, a line each.
    package var command: [String]
    /// The line that is kist.
    package var kist: String
    /// What is said instead where there are other lines.
    package var conflict: StorageError
  }

  /// What the tool then looks for along PATH, where a line may put it.
  package var program: String?
  package var lines: [Line] = []
  /// A command of the tool's own, after the lines.
  package var command: [String]?
  /// What the command would take away.
  package var asked: Asked?
}

extension Tool {
  /// What makes this user's tool ask kist.
  ///
  /// - Parameter kist: the program, as a shell has it, that a link is made to.
  package func setup(linkingTo kist: String) -> ToolSetup {
    switch self {
    case .git:
      ToolSetup(
        program: program, command: ["git", "config", "--global", "credential.helper", "kist"],
        asked: .init(
          command: ["git", "config", "--global", "--get-all", "credential.helper"], kist: "kist",
          conflict: StorageError(
            .conflict, "git has another helper already, which this would take away",
            hint: "see `git config --global --get-all credential.helper`; to have git ask both: "
              + "`git config --global --add credential.helper kist`", outcome: .unchanged)))
    case .docker:
      ToolSetup(
        program: program,
        lines: [
          .init(text: #"{"credsStore": "kist"}"#, place: "~/.docker/config.json"),
          .init(
            text: #"credential-helpers = ["kist", "containers-auth.json"]"#,
            place: "~/.config/containers/registries.conf.d/kist.conf, for podman and skopeo"),
        ])
    case .cargo:
      ToolSetup(
        program: program,
        lines: [
          .init(
            text:
              #"registry.global-credential-providers = ["cargo:token", "cargo-credential-kist"]"#,
            place: "~/.cargo/config.toml, above its first [table]")
        ])
    case .aws:
      ToolSetup(lines: [
        .init(
          text: "credential_process = kist helper aws NAME", place: "~/.aws/config, in a [profile]")
      ])
    case .kubectl:
      ToolSetup(lines: [
        .init(
          text: "kubectl config set-credentials NAME "
            + "--exec-api-version=client.authentication.k8s.io/v1 "
            + "--exec-interactive-mode=Never --exec-command=kist "
            + "--exec-arg=helper --exec-arg=kubectl --exec-arg=NAME",
          place: "a shell, with your user of the kubeconfig as NAME")
      ])
    case .terraform:
      ToolSetup(lines: [
        .init(text: #"credentials_helper "kist" {}"#, place: "~/.terraformrc"),
        link("terraform-credentials-kist", in: "~/.terraform.d/plugins", to: kist),
      ])
    case .keyring:
      ToolSetup(
        program: program,
        lines: [
          link("keyring", in: "~/.local/bin", to: kist),
          .init(text: "export UV_KEYRING_PROVIDER=subprocess", place: "~/.profile, for uv"),
        ],
        command: ["pip", "config", "set", "global.keyring-provider", "subprocess"])
    case .askpass:
      ToolSetup(
        program: program,
        lines: [
          .init(
            text: "SSH_ASKPASS=kist-askpass SSH_ASKPASS_REQUIRE=force "
              + "KIST_ASKPASS=kist://SERVICE/ACCOUNT COMMAND",
            place: "a shell, for the one command that is to ask for this credential")
        ])
    }
  }
}

private func link(_ name: String, in folder: String, to kist: String) -> ToolSetup.Line {
  .init(
    text: linkCommand(name, in: folder, to: kist), place: "a shell, unless the link is there")
}

/// The command that makes a link to `kist`, by which a tool finds its helper.
package func linkCommand(_ name: String, in folder: String, to kist: String) -> String {
  "mkdir -p \(folder) && ln -s \(kist) \(folder)/\(name)"
}
