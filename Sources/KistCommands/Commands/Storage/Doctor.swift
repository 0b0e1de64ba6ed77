package import ArgumentParser
internal import KistClient
internal import KistCore
internal import KistWire

package struct Doctor: AsksKistd {
  package static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Tell what is wrong, and what to do about it.",
    usage: "kist doctor [options]",
    discussion: """
      Looks at the daemon, its storage, the keyring, the service, files and programs; changes \
      nothing. Ends with 0 where credentials can be had, else with the status of the first problem.

        kist doctor
      """)

  @OptionGroup package var common: CommonOptions

  package init() {}

  package func run() async throws {
    let checkup = Checkup(
      socket: try common.socketPath(), kistd: try common.kistd(), surroundings: .live)
    try await perform(checkup, .live)
  }

  /// Prints the findings; throws the exit status of the first problem.
  package func perform(_ checkup: Checkup, _ terminal: Terminal) async throws {
    var findings = await checkup.findings()
    for index in findings.indices {
      findings[index].hint = hint(findings[index].hint, over: common.socket)
    }
    try terminal.show(findings, asJSON: common.json)
    if let code = findings.compactMap(\.state.code).first { throw ExitCode(code.exitStatus) }
  }
}
