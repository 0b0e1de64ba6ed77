import KistCore
import KistInterop
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Variables for a command` {
  private func read(_ text: String) throws -> [Variable] {
    try Variable.variables(inFile: Secret(utf8: text), place: "--env-file")
  }

  @Test(arguments: [
    ("A=1\nB=2\n", ["A=1", "B=2"]),
    ("A=1\r\nB=2", ["A=1", "B=2"]),
    ("\n# no\n  # no\n \t\nA=1", ["A=1"]),
    ("A=\n", ["A="]),
    ("A=\"x y\" # z\n", ["A=\"x y\" # z"]),
    ("A= x \nB=b=c\n", ["A= x ", "B=b=c"]),
    ("_a1=$HOME\\n\n", ["_a1=$HOME\\n"]),
    ("A=x\r", ["A=x\r"]),
    ("A=KIST://s\n", ["A=KIST://s"]),
    ("\u{FEFF}A=x\n", ["A=x"]),
    ("", []),
  ])
  func `stand in a file, a line each, and are taken to the byte`(
    text: String, expected: [String]
  ) throws {
    let found = try read(text).map { variable in
      guard case .text(let value) = variable.value else { return variable.name }
      return "\(variable.name)=\(value.text)"
    }
    #expect(found == expected)
  }

  @Test(.timeLimit(.minutes(5)))
  func `may be as many as a file holds`() async throws {
    let variables = (0..<100_000).map {
      Variable(name: "A\($0)", value: .text(Secret(utf8: "x")), place: "")
    }
    let found = try await settings(of: variables, from: .inMemory(now: { .sample }))
    #expect(found.count == variables.count)
  }

  @Test func `are references where they begin as one`() throws {
    let found = try read("A=1\nB=kist://db/alice%2Fb\n")
    #expect(
      found.last
        == Variable(
          name: "B",
          value: .reference(
            CredentialReference(CredentialKey(service: "db", account: "alice/b"))),
          place: "--env-file, line 2"))
  }

  @Test(arguments: [
    ("A\n", "--env-file, line 1 is not NAME=value"),
    ("A=1\nexport B=2\n", "--env-file, line 2 is not NAME=value"),
    ("1A=1\n", "--env-file, line 1 is not NAME=value"),
    (" A=1\n", "--env-file, line 1 is not NAME=value"),
    ("=1\n", "--env-file, line 1 is not NAME=value"),
    ("A=kist://\n", "--env-file, line 1 has no reference kist://SERVICE/ACCOUNT"),
    ("A=kist://a/b/c\n", "--env-file, line 1 has no reference kist://SERVICE/ACCOUNT"),
    ("A=kist://a b\n", "--env-file, line 1 has no reference kist://SERVICE/ACCOUNT"),
  ])
  func `that are none are refused by their line`(text: String, message: String) {
    let error = #expect(throws: StorageError.self) { try read(text) }
    #expect(error?.message == message)
  }

  @Test(arguments: [
    ("A=kist://s/a", nil),
    ("A", "--env number 2 is not NAME=kist://SERVICE/ACCOUNT"),
    ("=kist://s/a", "--env number 2 is not NAME=kist://SERVICE/ACCOUNT"),
    ("A-B=kist://s/a", "--env number 2 is not NAME=kist://SERVICE/ACCOUNT"),
    ("A=hunter2", "--env A has no reference kist://SERVICE/ACCOUNT"),
    ("A=", "--env A has no reference kist://SERVICE/ACCOUNT"),
  ])
  func `are references only, as options`(option: String, message: String?) {
    var error: StorageError?
    do throws(StorageError) {
      _ = try Variable(option, of: "--env", place: "--env number 2")
    } catch let thrown {
      error = thrown
    }
    #expect(error?.message == message)
  }

  @Test func `have the values that are stored, the last one of a name`() async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    try await storage.save(.sample(CredentialKey(service: "s", account: "a"), secret: "one"))
    let variables = [
      try Variable("A=kist://nobody", of: "--env", place: "--env"),
      try Variable("B=kist://s/a", of: "--env", place: "--env"),
      try Variable("A=kist://s/a", of: "--env", place: "--env"),
    ]
    let one = Secret(utf8: "one")
    #expect(
      try await settings(of: variables, from: storage)
        == [Setting(name: "B", value: one), Setting(name: "A", value: one)])
  }

  @Test func `are nothing at all where one is missing`() async throws {
    let storage = UserStorage.inMemory(now: { .sample })
    let variables = [try Variable("A=kist://nobody", of: "--env", place: "--env number 2")]
    let error = await #expect(throws: StorageError.self) {
      try await settings(of: variables, from: storage)
    }
    #expect(error?.message == "--env A: the storage has no credentials")
    #expect(error?.code == .notFound)
  }

  @Test func `are nothing at all where the storage is locked`() async throws {
    let locked = StorageError.locked("the storage is locked")
    let variables = [try Variable("A=kist://s", of: "--env", place: "--env")]
    await #expect(throws: locked) {
      try await settings(of: variables, from: .failing(locked))
    }
  }

  @Test(arguments: [
    "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "GCONV_PATH", "BASH_ENV", "ENV", "SHELLOPTS",
    "BASH_FUNC_ls", "PS4", "PYTHONPATH", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "NODE_OPTIONS",
    "JAVA_TOOL_OPTIONS", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "npm_config_script_shell", "PATH",
    "HOME", "PAGER", "KUBECONFIG", "OPENSSL_CONF", "MAKEFLAGS", "PSQLRC", "Npm_Config_node_options",
    "DBUS_SESSION_BUS_ADDRESS", "APT_CONFIG", "COMPILER_PATH", "WGETRC", "ZIPOPT", "ZIP", "MANOPT",
    "KUBE_EDITOR",
    "CARGO_REGISTRY_CREDENTIAL_PROVIDER", "ANSIBLE_CONFIG",
  ])
  func `by which a program runs other code are refused, unless they are allowed`(name: String)
    throws
  {
    let variables = try read("A=1\n\(name)=hunter2\n")
    let error = #expect(throws: StorageError.self) {
      for variable in variables { try variable.checkRunsNoCode(allowing: ["A", "\(name)2"]) }
    }
    #expect(error?.code == .denied)
    #expect(error?.message.hasPrefix("--env-file, line 2: \(name) can") == true)
    #expect(error?.hint?.contains("`--allow-env \(name)`") == true)
    #expect("\(error as Any)".contains("hunter2") == false)
    for variable in variables { try variable.checkRunsNoCode(allowing: [name]) }
  }

  @Test(arguments: [
    "DATABASE_URL", "PYTHONUNBUFFERED", "LANG", "TZ", "TMPDIR", "MALLOC_ARENA_MAX", "HTTPS_PROXY",
    "SSL_CERT_FILE", "AWS_SECRET_ACCESS_KEY", "CARGO_REGISTRY_TOKEN",
    "ENVIRONMENT", "NODE_ENV", "RAILS_ENV", "PORT", "PGPASSWORD", "HOMEPAGE", "GITHUB_TOKEN",
  ])
  func `of applications are not refused`(name: String) throws {
    for variable in try read("\(name)=1\n") { try variable.checkRunsNoCode(allowing: []) }
  }

  @Test func `refer to the services that are named, where some are`() throws {
    let variables = try read("A=kist://other\nB=kist://db/alice\nC=kist://db2/alice\nD=plain\n")
    for variable in variables {
      try variable.check(only: [])
      try variable.check(only: ["db", "other", "db2"])
    }
    let error = #expect(throws: StorageError.self) {
      for variable in variables { try variable.check(only: ["other", "db"]) }
    }
    #expect(error?.code == .denied)
    #expect(
      error?.message
        == "--env-file, line 3: the reference names a service that `--only` does not allow")
  }
}
