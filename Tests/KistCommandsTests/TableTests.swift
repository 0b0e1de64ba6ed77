import KistCore
import KistTerminal
import KistTesting
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `A list` {
  @Test(arguments: [
    "\u{61C}", "\u{200B}", "\u{200F}", "\u{202A}", "\u{202E}", "\u{2060}", "\u{2069}", "\u{FEFF}",
    "\u{AD}", "\u{180E}", "\u{2028}", "\u{2029}", "\u{FFF9}", "\u{FFFB}", "\u{E0001}", "\u{E007F}",
  ])
  func `shows what would reorder or hide text, and pipes it as it is`(hidden: String) async {
    let storage = UserStorage.inMemory(now: { .sample })
    let text = "a" + hidden + "b"
    let input = Secret(utf8: "s")
    await run(["save", text, text, "--label", text], storage, Recorder().terminal(input: input))
    let (shown, piped) = (Recorder(), Recorder())
    await run(["list"], storage, shown.terminal(isTerminal: true))
    await run(["list"], storage, piped.terminal())
    let visible = visible(text)
    #expect(visible.hasPrefix("a\\u{"))
    #expect(
      shown.output.split(separator: "\n")[1].hasPrefix("\(visible)  \(visible)  \(visible)"))
    #expect(piped.output.hasPrefix("\(text)\t\(text)\t\(text)\t"))
  }

  @Test(arguments: [40, 60, 80, 300])
  func `fits into the terminal, and is complete where it is piped`(width: Int) async {
    let storage = UserStorage.inMemory(now: { .sample })
    let (service, account) = (String(repeating: "s", count: 60), "alice@example.org")
    let label = String(repeating: "\u{6F22}\u{5B57}e\u{301}", count: 20)
    let input = Secret(utf8: "s")
    await run(
      ["save", service, account, "--label", label, "--expires-in", "90d"], storage,
      Recorder().terminal(input: input))
    let (shown, piped) = (Recorder(), Recorder())
    await run(["list"], storage, shown.terminal(isTerminal: true, width: width))
    await run(["list"], storage, piped.terminal(width: width))
    for line in shown.output.split(separator: "\n") {
      #expect(String(line).terminalWidth <= width)
    }
    #expect(shown.output.contains("\u{2026}") == (width < 300))
    #expect(piped.output.hasPrefix("\(service)\t\(account)\t\(label)\t2026-11-20T10:00:00Z\t"))
  }

  @Test func `is aligned by the columns that characters take`() async {
    let storage = UserStorage.inMemory(now: { .sample })
    for account in ["\u{6F22}\u{5B57}", "e\u{301}e\u{301}", "abcd", "\u{1F511}k"] {
      await run(
        ["save", "s", account, "--label", "x"], storage,
        Recorder().terminal(input: Secret(utf8: "s")))
    }
    let shown = Recorder()
    await run(["list"], storage, shown.terminal(isTerminal: true))
    let columns = shown.output.split(separator: "\n").dropFirst().map { line in
      String(line.prefix { $0 != "x" }).terminalWidth
    }
    #expect(columns == [18, 18, 18, 18])
  }

  private func run(_ arguments: [String], _ storage: UserStorage, _ terminal: Terminal) async {
    let status = await Kist.status(of: arguments, on: terminal) { command in
      try await (command as? any RequiresUserStorage)?.perform(storage, terminal)
    }
    #expect(status == 0)
  }
}
