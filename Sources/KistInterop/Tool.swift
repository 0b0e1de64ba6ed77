package import KistCore

/// The supported tools, by their names in `kist helper TOOL`.
package enum Tool: String, CaseIterable, Sendable {
  case git, docker, cargo, aws, kubectl, terraform, keyring, askpass

  /// The name of the helper program, if the tool prescribes one.
  package var program: String? {
    switch self {
    case .git: "git-credential-kist"
    case .docker: "docker-credential-kist"
    case .cargo: "cargo-credential-kist"
    case .terraform: "terraform-credentials-kist"
    case .keyring: "keyring"
    case .askpass: "kist-askpass"
    case .aws, .kubectl: nil
    }
  }

  /// Returns the tool whose helper program has this name.
  package init?(program: String) {
    guard let tool = Self.allCases.first(where: { $0.program == program }) else { return nil }
    self = tool
  }

  /// The function that answers a call; `nil` for cargo, which sends several lines: `answerCargo`.
  package var answer: (@Sendable (HelperCall, UserStorage) async -> HelperAnswer)? {
    switch self {
    case .git: answerGit
    case .docker: answerDocker
    case .cargo: nil
    case .aws: answerAWS
    case .kubectl: answerKubectl
    case .terraform: answerTerraform
    case .keyring: answerKeyring
    case .askpass: answerAskpass
    }
  }
}

/// The steps that make a tool ask kist.
package struct ToolSetup: Sendable, Equatable {
  /// A line for a file or a shell.
  package struct Line: Sendable, Equatable {
    package var text: String
    package var place: String
  }

  /// The helpers that the tool already asks.
  package struct Asked: Sendable, Equatable {
    /// The tool's command that prints them, with their scopes and origins, one on each line.
    package var command: [String]
    /// The helper that means kist.
    package var kist: String
    /// The error to report if there are others.
    package var conflict: StorageError
  }

  /// The state of the file that a line is for.
  package enum File: Sendable {
    case missing, existing
    /// It already has the line.
    case done
  }

  /// The program that the tool then looks for on PATH; one of the lines may create it.
  package var program: String?
  package var lines: [Line] = []
  /// The tools that already ask kist, so that they need no line.
  package var done: [String] = []
  /// A command of the tool, to run after the lines.
  package var command: [String]?
  /// The existing settings that the command would replace.
  package var asked: Asked?
}

extension Tool {
  /// Returns the steps that make this user's tool ask kist.
  ///
  /// - Parameters:
  ///   - kist: The program for a link to point to, in shell syntax.
  ///   - dockerFile: The configuration of docker.
  ///   - docker: The state of that file.
  ///   - podman: The state of podman's file.
  package func setup(
    linkingTo kist: String, dockerFile: String = "~/.docker/config.json",
    docker: ToolSetup.File = .missing, podman: ToolSetup.File = .missing
  ) -> ToolSetup {
    switch self {
    case .git:
      ToolSetup(
        program: program, command: ["git", "config", "--global", "credential.helper", "kist"],
        asked: .init(
          // Without scopes, git 2.39 prints only one of the user's two files.
          command: [
            "git", "config", "--show-scope", "--show-origin", "--get-regexp",
            #"^credential\.(.*\.)?helper$"#,
          ], kist: "kist",
          conflict: .refused(
            "git already has another helper, which this command would replace", as: .conflict,
            hint: "see `git config --show-origin --get-all credential.helper`; to use both: "
              + "`git config --global --add credential.helper kist`")))
    case .docker:
      containerSetup(docker, file: dockerFile, podman)
    case .cargo:
      ToolSetup(
        program: program,
        lines: [
          line(
            #"registry.global-credential-providers = ["cargo:token", "cargo-credential-kist"]"#,
            "~/.cargo/config.toml, above its first [table]")
        ])
    case .aws:
      ToolSetup(lines: [
        line("credential_process = kist helper aws NAME", "~/.aws/config, in a [profile]")
      ])
    case .kubectl:
      ToolSetup(lines: [
        line(
          "kubectl config set-credentials NAME "
            + "--exec-api-version=client.authentication.k8s.io/v1 "
            + "--exec-interactive-mode=Never --exec-command=kist "
            + "--exec-arg=helper --exec-arg=kubectl --exec-arg=NAME",
          "a shell, with the user in your kubeconfig as NAME")
      ])
    case .terraform:
      ToolSetup(lines: [
        line(#"credentials_helper "kist" {}"#, "~/.terraformrc"),
        link("terraform-credentials-kist", in: "~/.terraform.d/plugins", to: kist),
      ])
    case .keyring:
      ToolSetup(
        program: program,
        lines: [
          link("keyring", in: "~/.local/bin", to: kist),
          line("export UV_KEYRING_PROVIDER=subprocess", "~/.profile, for uv"),
        ], command: ["pip", "config", "set", "global.keyring-provider", "subprocess"])
    case .askpass:
      ToolSetup(
        program: program,
        lines: [
          line(
            "SSH_ASKPASS=kist-askpass SSH_ASKPASS_REQUIRE=force "
              + "KIST_ASKPASS=kist://SERVICE/ACCOUNT COMMAND",
            "a shell, for the one command that needs this credential")
        ])
    }
  }
}

/// Returns the steps for docker and podman, without the lines that their files already have.
private func containerSetup(
  _ docker: ToolSetup.File, file: String, _ podman: ToolSetup.File
) -> ToolSetup {
  var setup = ToolSetup(program: Tool.docker.program)
  switch docker {
  case .missing:
    setup.lines.append(line(#"{"credsStore": "kist"}"#, "\(file), a new file"))
  case .existing:
    setup.lines.append(line(#""credsStore": "kist","#, "\(file), after its first {"))
  case .done: setup.done.append("docker")
  }
  switch podman {
  case .missing:
    setup.lines.append(
      line(podmanLine, "~/\(podmanFile), a new file that you add, for podman and skopeo"))
  case .existing:
    setup.lines.append(
      line(podmanLine, "~/\(podmanFile), above its first [table], for podman and skopeo"))
  case .done: setup.done.append("podman")
  }
  return setup
}

/// The file that makes podman and skopeo ask kist, below the home directory.
package let podmanFile = ".config/containers/registries.conf.d/kist.conf"

/// The line of that file.
package let podmanLine = #"credential-helpers = ["kist", "containers-auth.json"]"#

private func line(_ text: String, _ place: String) -> ToolSetup.Line {
  ToolSetup.Line(text: text, place: place)
}

private func link(_ name: String, in folder: String, to kist: String) -> ToolSetup.Line {
  line(linkCommand(name, in: folder, to: kist), "a shell, unless the link exists")
}

/// Returns the command that links a helper's name to `kist`.
package func linkCommand(_ name: String, in folder: String, to kist: String) -> String {
  "mkdir -p \(folder) && ln -s \(kist) \(folder)/\(name)"
}
