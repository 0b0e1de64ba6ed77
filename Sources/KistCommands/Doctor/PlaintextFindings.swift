internal import KistCore
internal import KistInterop
internal import KistSystem

/// A file in which a tool, or a shell, may keep secrets in plain text.
private struct PlainFile {
  enum Content {
    /// A file that `kist import` reads.
    case importable(ForeignFormat)
    case lines(PlainLines, kind: String, remedy: String)
    /// Text with tokens of well-known shapes.
    case tokens
  }

  /// The path in the home directory, or an absolute path from a variable.
  var path: String
  var content: Content
}

extension PlainFile {
  /// The maximum number of bytes that kist reads of a file.
  static let limit = 4 << 20

  private static let formats: [ForeignFormat] = [.gitCredentials, .netrc, .docker, .aws, .cargo]

  /// Returns the files to check.
  ///
  /// Variables give the paths of some of them.
  static func all(_ variable: (String) -> String?) -> [PlainFile] {
    let usual = formats.compactMap { format in
      ImportSource.foreign(format).usualPlace(variable)
        .map { PlainFile(path: $0, content: .importable(format)) }
    }
    let others: [PlainFile] = [
      PlainFile(path: ".config/git/credentials", content: .importable(.gitCredentials)),
      PlainFile(path: ".config/containers/auth.json", content: .importable(.docker)),
      // The name that older versions of cargo used, and that cargo still reads.
      PlainFile(
        path: (variable("CARGO_HOME").flatMap { $0.isEmpty ? nil : $0 } ?? ".cargo")
          + "/credentials", content: .importable(.cargo)),
      .init(
        ".terraform.d/credentials.tfrc.json", .settings(["\"token\""]), "a Terraform token",
        "`kist setup terraform`, then `kist save terraform:HOST`"),
      .init(
        ".kube/config", .settings(["token", "password", "client-key-data"]),
        "a Kubernetes credential",
        "`kist save kubectl:NAME token`, then `kist setup kubectl`"),
      .init(
        ".config/rclone/rclone.conf",
        .settings(["pass", "pass2", "password", "secret_access_key", "\"access_token\""]),
        "a password or token that rclone can read",
        "`rclone config encryption set`, save that password with `kist save rclone`, and set "
          + "`RCLONE_PASSWORD_COMMAND='kist load rclone'`"),
      pip(".config/pip/pip.conf"), pip(".pip/pip.conf"),
      .init(
        ".npmrc", .settings(["_authToken", "_auth", "_password"]), "an npm token",
        "`kist save registry.npmjs.org`; write `_authToken=${NPM_TOKEN}` into the file, and run "
          + "`kist run --env NPM_TOKEN=kist://registry.npmjs.org -- npm publish`"),
      .init(
        ".pypirc", .settings(["password"]), "a PyPI token",
        "`kist save https://upload.pypi.org/legacy/ __token__`; twine gets it through "
          + "`keyring`, and needs no password in the file"),
      .init(
        ".pgpass", .pgpass, "a PostgreSQL password",
        "`kist save postgres USER`; then run "
          + "`kist run --env PGPASSWORD=kist://postgres/USER -- psql`"),
      .init(
        ".my.cnf", .settings(["password"]), "a MySQL password",
        "`kist save mysql USER`; then run `kist run --env MYSQL_PWD=kist://mysql/USER -- mysql`"),
      .init(
        ".m2/settings.xml", .elements(["password", "passphrase"]), "a Maven password",
        "`kist save maven SERVER`; write `${env.MAVEN_PASSWORD}` into the file, and run "
          + "`kist run --env MAVEN_PASSWORD=kist://maven/SERVER -- mvn deploy`"),
    ]
    let texts = [
      ".bash_history", ".zsh_history", ".histfile", ".local/share/fish/fish_history",
      ".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".bashrc",
      ".bash_profile", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile",
      ".config/fish/config.fish", ".envrc", ".env", ".terraformrc",
      ".config/gh/hosts.yml", ".config/glab-cli/config.yml", ".config/sops/age/keys.txt",
      ".config/age/keys.txt",
    ]
    return usual + others + texts.map { PlainFile(path: $0, content: .tokens) }
  }

  private static func pip(_ path: String) -> PlainFile {
    .init(
      path, .addresses, "a password in an address",
      "`kist save ADDRESS USER` with the address without user and password, then "
        + "`kist setup keyring`")
  }

  private init(_ path: String, _ lines: PlainLines, _ kind: String, _ remedy: String) {
    self.init(path: path, content: .lines(lines, kind: kind, remedy: remedy))
  }
}

extension Host {
  /// Returns a note for each file with secrets in plain text, and notes about unread files.
  func plaintextFindings() -> [Finding] {
    guard let home = value("HOME") else { return [] }
    var all: [Finding] = []
    var unread: [(reason: String, paths: [String])] = []
    func leaveOut(_ path: String, _ reason: String) {
      if let index = unread.firstIndex(where: { $0.reason == reason }) {
        unread[index].paths.append(path)
      } else {
        unread.append((reason, [path]))
      }
    }
    for file in PlainFile.all(value) {
      let path = file.path.hasPrefix("/") ? file.path : "\(home)/\(file.path)"
      switch homeFile(path, PlainFile.limit) {
      case .missing: break
      case .refused(let reason): leaveOut(path, "not checked for secrets, because it \(reason)")
      case .text(let text, let isCut):
        all += findings(of: file.content, path, text)
        if isCut { leaveOut(path, "only the first \(PlainFile.limit >> 20) MiB were checked") }
      }
    }
    all += unread.map { reason, paths in
      .note(
        "plaintext", "\(paths.joined(separator: ", ")): \(reason)",
        hint: "look for secrets there yourself")
    }
    return all.isEmpty
      ? [.ok("plaintext", "no secrets were found in the files of other tools and of shells")] : all
  }

  private func findings(
    of content: PlainFile.Content, _ path: String, _ text: Secret
  ) -> [Finding] {
    switch content {
    case .importable(let format): return [finding(of: format, path, text)].compactMap(\.self)
    case .lines(let lines, let kind, let remedy):
      guard lines.occur(in: text) else { return [] }
      let hint = "move it into kist: \(remedy); then remove it from the file"
      return [.note("plaintext", "\(path) has \(kind) in plain text", hint: hint)]
    case .tokens:
      return TokenShape.found(in: text).map { shape, line in
        .note(
          "plaintext", "\(path) has \(shape.kind) in plain text, first in line \(line)",
          hint:
            "save it with `kist save \(shape.name)`, remove it from the file, and replace it at "
            + "its service if others could read the file")
      }
    }
  }

  private func finding(of format: ForeignFormat, _ path: String, _ text: Secret) -> Finding? {
    let command = "`kist import \(format.rawValue) \(shellQuoted(path))`"
    let file: ForeignCredentials
    do throws(StorageError) {
      file = try format.read(text, configuration: configuration(of: format, beside: path))
    } catch {
      return .note(
        "plaintext", "\(path) may have secrets, but kist cannot read it as \(format.rawValue)",
        hint: "see why: \(command)")
    }
    guard file.hasSecrets else { return nil }
    guard !file.entries.isEmpty else {
      return .note(
        "plaintext",
        "\(path) has secrets in plain text that kist does not import (\(format.rawValue))",
        hint: "see which: \(command)")
    }
    let what = ImportSource.foreign(format).whatCanGo
    let takesAll = file.leftOut.keys.allSatisfy { $0 == .repeated }
    let remedy =
      takesAll
      ? "remove \(what == "it" ? "the file" : what)"
      : "remove them from the file, which also has what kist does not import"
    return .note(
      "plaintext", "\(path) has \(counted(file.entries.count)) in plain text (\(format.rawValue))",
      hint: "import those that kist lacks: \(command); then \(remedy)")
  }

  private func configuration(of format: ForeignFormat, beside path: String) -> Secret? {
    guard format == .cargo else { return nil }
    let file = homeFile(directory(of: path) + "/config.toml", ForeignFormat.cargo.longestFile)
    if case .text(let text, isCut: false) = file { return text }
    return nil
  }
}

extension ForeignCredentials {
  /// Whether the file has secrets, even if kist cannot import them.
  fileprivate var hasSecrets: Bool {
    let secret: [LeftOut] = [.ofNoHost, .unknownRegistry, .misplaced, .overLimits]
    return !entries.isEmpty || secret.contains { leftOut[$0] != nil }
  }
}
