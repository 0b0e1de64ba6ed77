import KistCore
import KistJSON
import KistTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `JSON for a terminal` {
  @Test(arguments: [
    "", "plain", "\u{202E}desrever", "a\u{200D}b\u{2066}", "\u{E0041}\u{E007F}",
    "\u{AD}\u{5E9}\u{1F511}",
    "\u{1B}[2J\u{9B}\u{7F}\r\n",
  ])
  func `has escapes for what misleads, and means the same`(text: String) throws {
    let json = JSONWriter.object { $0.member("text", text) }
    let shown = visible(json: json)
    let misleading = shown.withBytes(String.init(repairing:)).unicodeScalars.filter(\.isMisleading)
    #expect(misleading.isEmpty)
    #expect(try JSONObject(shown).required("text").string() == text)
  }
}
