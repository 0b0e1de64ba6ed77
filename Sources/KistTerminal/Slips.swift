/// The name that a word is a slip of the hand away from; `nil` where there is none.
package func nameMeant(by word: String, among names: [String]) -> String? {
  guard word.count <= 40 else { return nil }
  let nearest = names.map { (name: $0, slips: slips(from: word, to: $0)) }
    .min { $0.slips < $1.slips }
  guard let nearest, nearest.slips <= max(1, nearest.name.count / 3) else { return nil }
  return nearest.name
}

/// What the argument parser says, with a guess at what an unknown option was meant for only where it
/// may be that: the parser guesses wildly, and never at the options that it has of its own.
package func withLikelyGuess(_ message: String, orAtOneOf own: [String]) -> String {
  let (start, guess) = ("Unknown option '", ". Did you mean '")
  guard message.hasPrefix(start) else { return message }
  let parts = message.split(separator: guess, maxSplits: 1)
  let word = String(parts[0].dropFirst(start.count).dropLast())
  let others = parts.dropFirst().map { String($0.prefix { $0 != "'" }) }
  guard let name = nameMeant(by: word, among: own + others) else { return String(parts[0]) }
  return "\(parts[0])\(guess)\(name)'?"
}

/// How many letters were left out, put in, taken for others or swapped with the next one (the optimal
/// string alignment distance).
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
