import KistCommands
import KistCore
import Testing

@Suite struct `kist setup, where kist is not on PATH` {
  @Test(arguments: [
    ("terraform", "~/.terraform.d/plugins", "terraform-credentials-kist"),
    ("keyring", "~/.local/bin", "keyring"),
    ("cargo", "~/.local/bin", "cargo-credential-kist"),
  ])
  func `has the link made to the program that was called`(
    tool: String, folder: String, link: String
  ) async {
    let recorder = Recorder()
    let terminal = recorder.terminal(input: Secret(utf8: ""), typed: [], isTerminal: false)
    let status = await Kist.status(of: ["setup", tool], on: terminal) { command in
      try (command as? Setup)?.perform(
        terminal, program: "/opt/my kist/bin/kist", finding: { _ in nil }, printing: { _ in [] }
      ) { _ in .internal("a test does not") }
    }
    let said = recorder.output + recorder.error
    #expect(
      said.contains("mkdir -p \(folder) && ln -s '/opt/my kist/bin/kist' \(folder)/\(link)"))
    #expect(!said.contains("command -v"))
    #expect(status == 0)
  }
}
