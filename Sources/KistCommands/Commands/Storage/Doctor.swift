internal import ArgumentParser
internal import KistClient
internal import KistCore
internal import KistWire

struct Doctor: AsksKistd {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Tell what is wrong, and what to do about it.",
    usage: "kist doctor [options]",
    discussion: """
      Looks at the daemon, its storage, the keyring, the service, files and programs; changes \
      nothing. Ends with 0 where credentials can be had, else with the status of the first problem.

        kist doctor
      """)

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let checkup = Checkup(
      socket: try common.socketPath(), kistd: try common.kistd(), host: .live)
    try await perform(checkup, .live)
  }

  /// Prints the findings; throws the exit status of the first problem.
  func perform(_ checkup: Checkup, _ terminal: Terminal) async throws {
    var findings = await checkup.findings()
    for index in findings.indices {
      findings[index].hint = hint(findings[index].hint, over: common.socket)
    }
    try terminal.show(findings, asJSON: common.json)
    if let code = findings.compactMap(\.state.code).first { throw ExitCode(code.exitStatus) }
  }
}
