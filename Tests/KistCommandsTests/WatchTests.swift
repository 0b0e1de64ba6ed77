import KistCore
import Testing

@testable import KistCommands

@Suite(.timeLimit(.minutes(10))) struct `What is watched` {
  @Test(arguments: [
    "\u{61C}", "\u{200B}", "\u{200F}", "\u{202A}", "\u{202E}", "\u{2060}", "\u{2069}", "\u{FEFF}",
    "\u{AD}", "\u{180E}", "\u{2028}", "\u{2029}", "\u{FFF9}", "\u{FFFB}", "\u{E0001}", "\u{E007F}",
  ])
  func `shows what would reorder or hide text, and pipes it as it is`(hidden: String) async {
    let text = "a" + hidden + "b"
    let watch = watch(
      telling: .saved(CredentialKey(service: text, account: text), Revision(rawValue: "r.1")))
    let (shown, piped, read) = (Recorder(), Recorder(), Recorder())
    await run(["watch"], watch, shown.terminal(isTerminal: true))
    await run(["watch"], watch, piped.terminal())
    await run(["watch", "--json"], watch, read.terminal(isTerminal: true))
    let visible = visible(text)
    #expect(visible.hasPrefix("a\\u{"))
    #expect(shown.output == "saved\t\(visible)\t\(visible)\tr.1\n")
    #expect(piped.output == "saved\t\(text)\t\(text)\tr.1\n")
    // In JSON it is an escape, which a program reads as the same text.
    let escaped = hidden.utf16.map { unit in
      let digits = String(unit, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
    #expect(read.output.contains(#""service":"a\#(escaped.joined())b""#))
  }

  private func watch(telling change: CredentialChange) -> WatchCredentials {
    WatchCredentials { request throws(StorageError) in
      let watchers = Watchers()
      let changes = try watchers.watch(request) { nil }
      watchers.tell([change])
      watchers.end(.notFound)
      return CredentialChanges(position: nil) { () throws(StorageError) in
        do throws(StorageError) { return try await changes.makeAsyncIterator().next() } catch {
          return nil
        }
      }
    }
  }

  private func run(
    _ words: [String], _ watch: WatchCredentials, _ terminal: Terminal
  ) async {
    let status = await Kist.status(of: words, on: terminal) { command in
      try await (command as? any RequiresWatch)?.perform(watch, terminal)
    }
    #expect(status == 0)
  }
}
