import KistCore
import KistTesting
import KistWire
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `The output of kist doctor` {
  @Test func `fits a terminal of 40 columns, with the text below its subject`() async {
    let (output, _) = await examine(.healthy, onTerminal: true, width: 40)
    #expect(
      output.contains(
        """
        ok       storage
          there is no keyring; it is open, with
          3 credentials
        ok       key
          a key file

        """))
  }

  @Test func `prints an object for each, with the code of a problem`() async {
    var machine = Machine.healthy
    Fault.fullDisk.befall(&machine)
    let (output, _) = await examine(machine, ["--json"])
    #expect(
      output.contains(
        #"{"state":"problem","code":"full","subject":"disk","message":"3 MiB are free for /home/u/"#
      ))
    #expect(
      output.contains(#"{"state":"ok","subject":"key","message":"a key file"}"# + "\n"))
  }

  @Test func `fits onto a terminal, in color only where that is wanted`() async {
    var machine = Machine.healthy
    Fault.noKeyring.befall(&machine)
    Fault.fullDisk.befall(&machine)
    let plain = await examine(machine, onTerminal: true).output
    for line in plain.split(separator: "\n") { #expect(line.count <= 60, "\(line)") }
    #expect(plain.contains("problem  disk       3 MiB are free for"))
    #expect(plain.contains("\n                    hint: free some"))
    #expect(!plain.contains("\u{1B}"))
    let colored = await examine(machine, onTerminal: true, hasColors: true).output
    #expect(colored.contains("\u{1B}[31mproblem\u{1B}[0m  disk "))
    #expect(colored.contains("\u{1B}[32mok     \u{1B}[0m  key "))
  }
}
