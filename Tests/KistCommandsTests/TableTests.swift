import KistCommands
import KistCore
import KistTesting
import Testing

@Suite struct `A list` {
  @Test(arguments: [
    "\u{61C}", "\u{200B}", "\u{200F}", "\u{202A}", "\u{202E}", "\u{2060}", "\u{2069}", "\u{FEFF}",
  ])
  func `shows what would reorder or hide text, and pipes it as it is`(hidden: String) async {
    let storage = UserStorage.inMemory(now: { .sample })
    let text = "a" + hidden + "b"
    let input = Secret(utf8: "s")
    await run(["save", text, text, "--label", text], storage, Recorder().terminal(input: input))
    let (shown, piped) = (Recorder(), Recorder())
    await run(["list"], storage, shown.terminal(isTerminal: true))
    await run(["list"], storage, piped.terminal())
    #expect(
      shown.output.split(separator: "\n")[1].hasPrefix("a\u{FFFD}b      a\u{FFFD}b      a\u{FFFD}b")
    )
    #expect(piped.output.hasPrefix("\(text)\t\(text)\t\(text)\t"))
  }

  private func run(_ arguments: [String], _ storage: UserStorage, _ terminal: Terminal) async {
    let status = await Kist.status(of: arguments, on: terminal) { command in
      try await (command as? any RequiresUserStorage)?.perform(storage, terminal)
    }
    #expect(status == 0)
  }
}
