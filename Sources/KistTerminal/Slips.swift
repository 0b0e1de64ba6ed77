/// Returns the name that a word is a misspelling of; `nil` if there is none.
package func nameMeant(by word: String, among names: [String]) -> String? {
  guard word.count <= 40 else { return nil }
  let nearest = names.map { (name: $0, slips: slips(from: word, to: $0)) }
    .min { $0.slips < $1.slips }
  guard let nearest, nearest.slips <= max(1, nearest.name.count / 3) else { return nil }
  return nearest.name
}

/// Returns the argument parser's message, with a guess for an unknown option only if it is likely.
///
/// The parser's own guesses are often wrong, and never include the parser's own options.
package func withLikelyGuess(_ message: String, orAtOneOf own: [String]) -> String {
  let (start, guess) = ("Unknown option '", ". Did you mean '")
  guard message.hasPrefix(start) else { return message }
  let parts = message.split(separator: guess, maxSplits: 1)
  let word = String(parts[0].dropFirst(start.count).dropLast())
  let others = parts.dropFirst().map { String($0.prefix { $0 != "'" }) }
  guard let name = nameMeant(by: word, among: own + others) else { return String(parts[0]) }
  return "\(parts[0])\(guess)\(name)'?"
}

/// Returns the number of omitted, added, replaced or swapped letters (optimal string alignment
/// distance).
private func slips(from word: String, to name: String) -> Int {
  let (word, name) = (Array(word), Array(name))
  var slips = Array(repeating: Array(0...name.count), count: word.count + 1)
  for i in word.indices {
    slips[i + 1][0] = i + 1
    for j in name.indices {
      slips[i + 1][j + 1] = min(
        slips[i][j + 1] + 1, slips[i + 1][j] + 1, slips[i][j] + (word[i] == name[j] ? 0 : 1))
      if i > 0, j > 0, word[i] == name[j - 1], word[i - 1] == name[j] {
        slips[i + 1][j + 1] = min(slips[i + 1][j + 1], slips[i - 1][j - 1] + 1)
      }
    }
  }
  return slips[word.count][name.count]
}
