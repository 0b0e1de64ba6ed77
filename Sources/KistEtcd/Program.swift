#if Etcd
  internal import ArgumentParser
  internal import CLinux
  internal import Dispatch
  internal import Glibc
  internal import KistClient
  internal import KistCluster
  internal import KistClusterSocket
  internal import KistCore
  internal import KistServer
  internal import KistSystem
  internal import KistWire
  internal import Logging

  /// The options of kist-etcd.
  struct EtcdOptions: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "kist-etcd",
      abstract: "Serve the records of a shared vault, which are in etcd, to kistd.",
      version: KistVersion.current)

    @Option(help: ArgumentHelp("The id of the vault: 32 hexadecimal digits.", valueName: "id"))
    var vault: String

    @Option(
      help: ArgumentHelp(
        "A node of etcd, as https://HOST:PORT; give the option once for each node.",
        valueName: "url"))
    var endpoint: [String]

    @Option(
      help: ArgumentHelp(
        "The certificates of the authorities that the nodes' certificates are from, in PEM.",
        valueName: "file"))
    var ca: String

    @Option(help: ArgumentHelp("The certificate of this machine, in PEM.", valueName: "file"))
    var cert: String

    @Option(help: ArgumentHelp("The private key of this machine, in PEM.", valueName: "file"))
    var key: String

    @Option(
      help: ArgumentHelp(
        "The socket to listen at; by default `cluster.sock` beside the socket of kistd.",
        valueName: "path"))
    var socket: String?
  }

  /// Serves a vault with this process's command line.
  package func startEtcdAdapter() -> Never {
    // The process contains a private key.
    kist_set_dumpable(0)
    kist_share_memory()
    Task {
      do {
        try await serve(try parse(CommandLine.words()))
        exit(0)
      } catch let error as StorageError {
        end(error)
      } catch {
        end(StorageError(.unavailable, "the server ended"))
      }
    }
    dispatchMain()
  }

  private func serve(_ options: EtcdOptions) async throws {
    guard let vault = RecordID(hexadecimal: options.vault) else {
      throw StorageError.badRequest("the value of --vault is not 32 lower-case hexadecimal digits")
    }
    guard !options.endpoint.isEmpty else {
      throw StorageError.badRequest("no --endpoint is given")
    }
    let addresses = try options.endpoint.map { text throws(StorageError) in
      try NodeAddress(text)
    }
    let certificates = try Certificates(
      CertificateFiles(authority: options.ca, certificate: options.cert, key: options.key))
    let logger = Logger(label: "kist-etcd") { StreamLogHandler.standardError(label: $0) }
    // One thread for both sides, so that a change reaches kistd without a switch of threads.
    let executor = EventLoopExecutor()
    let nodes = Nodes(addresses, certificates.texts, executor, logger: logger)
    let descriptor = try listenReplacing(try socketPath(options.socket))
    async let maintenance: Void = maintain(certificates, nodes, logger: logger)
    try await EtcdCluster(nodes: nodes, keys: Keys(vault: vault)).cluster.serve(
      listeningOn: descriptor, as: "kist-etcd", on: executor, logger: logger)
    await maintenance
  }

  /// Connects again when the certificate was replaced, keeps the warnings true, and returns free memory.
  private func maintain(_ certificates: Certificates, _ nodes: Nodes, logger: Logger) async {
    var certificates = certificates
    var versions: [NodeAddress: EtcdVersion] = [:]
    var (round, nextCheck) = (0, 0)
    while !Task.isCancelled {
      if round == nextCheck {
        nodes.warn(certificates.warnings(now: time(nil)), about: .certificate)
        // If the quota is still used up, the next commit says so again.
        nodes.warn([], about: .quota)
        // After ten minutes, or after one if a node did not answer.
        nextCheck += await nodes.checkVersions(&versions) ? 60 : 6
      }
      round += 1
      try? await Task.sleep(for: .seconds(10))
      // A request or a reply can have 2 MiB, which malloc(3) would keep.
      kist_give_back_memory()
      if certificates.haveChanged(logger: logger) {
        nodes.reconnect(certificates.texts)
        logger.notice("the certificates were replaced; connecting again")
        nodes.warn(certificates.warnings(now: time(nil)), about: .certificate)
      }
    }
  }

  private func socketPath(_ option: String?) throws(StorageError) -> String {
    if let option { return try SocketLocation(path: option).path }
    let kistd = try SocketLocation.current().path
    let directory = kistd.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    return (directory + ["cluster.sock"]).joined(separator: "/")
  }

  /// Parses the command line; `--help` and `--version` end the process here.
  ///
  /// The error does not repeat a refused argument.
  private func parse(_ words: [String]) throws(StorageError) -> EtcdOptions {
    do { return try EtcdOptions.parse(words) } catch {
      if EtcdOptions.exitCode(for: error).isSuccess { EtcdOptions.exit(withError: error) }
      let message = EtcdOptions.message(for: error)
      throw .badRequest(
        message.contains("nexpected argument")
          ? "unexpected argument" : message.prefix(1).lowercased() + message.dropFirst(),
        hint: "`kist-etcd --help` shows the options")
    }
  }

  /// Ends the process with the reason.
  private func end(_ error: StorageError) -> Never {
    var text = "kist-etcd: \(visible(error.message))\n"
    if let hint = error.hint { text += "hint: \(visible(hint))\n" }
    let bytes = Array(text.utf8)
    _ = unsafe write(STDERR_FILENO, bytes, bytes.count)
    exit(error.code.exitStatus)
  }
#endif
