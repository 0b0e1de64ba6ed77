import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `What is imported without a name` {
  /// The format, the variables beside `HOME`, and where its file is then.
  private static let places: [(format: String, variables: [String: String], place: String)] = [
    ("netrc", [:], "/home/u/.netrc"),
    ("netrc", ["NETRC": "/etc/netrc"], "/etc/netrc"),
    ("netrc", ["NETRC": ""], "/home/u/.netrc"),
    ("git-credentials", [:], "/home/u/.git-credentials"),
    ("docker", [:], "/home/u/.docker/config.json"),
    ("docker", ["DOCKER_CONFIG": "/d"], "/d/config.json"),
    ("aws", [:], "/home/u/.aws/credentials"),
    ("aws", ["AWS_SHARED_CREDENTIALS_FILE": "/a"], "/a"),
    ("cargo", [:], "/home/u/.cargo/credentials.toml"),
    ("cargo", ["CARGO_HOME": "/c"], "/c/credentials.toml"),
    ("pass", [:], "/home/u/.password-store"),
    ("pass", ["PASSWORD_STORE_DIR": "/p"], "/p"),
  ]

  @Test(arguments: places)
  func `is looked for where its program keeps it`(
    format: String, variables: [String: String], place: String
  ) throws {
    let source = try #require(ImportSource(argument: format))
    #expect(source.usualPlace { $0 == "HOME" ? "/home/u" : variables[$0] } == place)
  }

  @Test(arguments: ImportSource.allCases)
  func `has no place without a home`(source: ImportSource) {
    #expect(source.usualPlace { _ in nil } == nil)
  }
}
