internal import Glibc
internal import KistCore
internal import KistInterop
internal import KistSystem

extension Setup {
  /// Makes docker ask kist: adds one member to docker's `config.json`, and replaces the file in one
  /// step.
  func applyToDocker(_ terminal: Terminal, in host: Host) throws(StorageError) {
    guard let path = dockerPlace(in: host) else {
      throw .refused(
        "docker's configuration cannot be found, because HOME is not set", hint: "set HOME")
    }
    if let configuration = host.dockerConfiguration, configuration.changed == nil {
      return noteLogins(of: configuration, in: path, terminal)
    }
    let text = try dockerConfiguration(at: path)
    let configuration = try DockerConfiguration(of: text)
    if let changed = configuration.changed {
      guard makeDirectory(directory(of: path)) else { throw notWritten(errno) }
      var file = try NewFile(for: path, replacing: text != nil)
      try file.append(changed)
      try file.finish()
      try terminal.reportSuccess("added kist to docker's configuration: \(path)")
    }
    noteLogins(of: configuration, in: path, terminal)
  }

  /// Throws if kist must not change docker's configuration, before it shows the change.
  func checkDocker(in host: Host) throws(StorageError) {
    guard let path = dockerPlace(in: host) else { return }
    _ = try DockerConfiguration(of: try dockerConfiguration(at: path))
  }

  private func noteLogins(
    of configuration: DockerConfiguration, in path: String, _ terminal: Terminal
  ) {
    guard configuration.plainLogins > 0 else { return }
    terminal.note(
      "logins in plain text are still in \(path): \(configuration.plainLogins)",
      hint: "import them: `kist import docker`; then remove `auths` from the file")
  }
}

/// Returns the path of docker's `config.json`; `nil` if HOME is not set.
func dockerPlace(in host: Host) -> String? {
  ImportSource.foreign(.docker).usualPlace(host.environment)
}

extension Host {
  /// docker's configuration, if it is readable.
  fileprivate var dockerConfiguration: DockerConfiguration? {
    guard let path = dockerPlace(in: self),
      case .text(let text, isCut: false) = homeFile(path, DockerConfiguration.longestFile)
    else { return nil }
    return try? DockerConfiguration(of: text)
  }

  var dockerState: ToolSetup.File {
    if let dockerConfiguration, dockerConfiguration.changed == nil { return .done }
    return dockerPlace(in: self).flatMap(file) == nil ? .missing : .existing
  }

  var podmanState: ToolSetup.File {
    guard let home = value("HOME"),
      case .text(let text, isCut: false) = homeFile("\(home)/\(podmanFile)", 64 << 10)
    else { return .missing }
    let lines = text.withBytes { String(repairing: $0) }.split(separator: "\n")
    return lines.contains { $0 == podmanLine } ? .done : .existing
  }
}

/// Returns the contents of the file; `nil` only if there is none.
private func dockerConfiguration(at path: String) throws(StorageError) -> Secret? {
  // NewFile refuses to replace a link, so a link counts as a file here.
  guard fileStatus(ofLink: path) != nil else {
    guard errno == ENOENT else { throw .notOpened("docker's configuration", errno) }
    return nil
  }
  return try readRegularFile(path, upTo: DockerConfiguration.longestFile, "docker's configuration")
}
