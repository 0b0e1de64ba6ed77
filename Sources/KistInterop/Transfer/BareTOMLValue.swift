internal import KistCore

/// Returns the end of a TOML 1.1 value without quotes: a boolean, a number, a date or a time.
///
/// Returns `nil` if there is no such value.
func endOfBareTOMLValue(in bytes: Span<UInt8>, from start: Int) -> Int? {
  let end = endOfWord(in: bytes, from: start)
  let word = bytes.extracting(start..<end)
  if matches(word, { $0.passDate($1) }), end + 1 < bytes.count, bytes[end] == UInt8(ascii: " ") {
    let endOfTime = endOfWord(in: bytes, from: end + 1)
    let time = bytes.extracting(end + 1..<endOfTime)
    if matches(time, { $0.passTime($1) && $0.passZone($1) }) { return endOfTime }
  }
  let isValue =
    matches(word) { $0.pass("true", $1) || $0.pass("false", $1) }
    || matches(word) { $0.passNumber($1) }
    || matches(word) { $0.passDate($1) && $0.passTimeOfDate($1) }
    || matches(word) { $0.passTime($1) }
  return isValue ? end : nil
}

private func endOfWord(in bytes: Span<UInt8>, from start: Int) -> Int {
  var end = start
  while end < bytes.count, !isBlank(bytes[end]), !isEndOfLine(bytes[end]),
    !",]}#".utf8.contains(bytes[end])
  {
    end += 1
  }
  return end
}

/// Whether a reader accepts the whole word.
private func matches(
  _ word: Span<UInt8>, _ pass: (inout WordReader, Span<UInt8>) -> Bool
) -> Bool {
  var reader = WordReader()
  return pass(&reader, word) && reader.offset == word.count
}

/// Reads parts of a word.
///
/// Each function returns whether its part was there.
private struct WordReader {
  private(set) var offset = 0

  mutating func passNumber(_ word: Span<UInt8>) -> Bool {
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] where pass(prefix, word) {
      return passDigits(word, radix: radix)
    }
    _ = pass("+", word) || pass("-", word)
    if pass("inf", word) || pass("nan", word) { return true }
    guard pass("0", word) ? !passDigits(word) : passDigits(word) else { return false }
    if pass(".", word), !passDigits(word) { return false }
    guard pass("e", word) || pass("E", word) else { return true }
    _ = pass("+", word) || pass("-", word)
    return passDigits(word)
  }

  mutating func passDate(_ word: Span<UInt8>) -> Bool { pass("dddd-dd-dd", word) }

  /// Reads the time after a date, which is optional.
  mutating func passTimeOfDate(_ word: Span<UInt8>) -> Bool {
    guard pass("T", word) || pass("t", word) else { return true }
    return passTime(word) && passZone(word)
  }

  mutating func passTime(_ word: Span<UInt8>) -> Bool {
    guard pass("dd:dd", word) else { return false }
    return !pass(":dd", word) || !pass(".", word) || passDigits(word)
  }

  /// Reads the zone of a time, which is optional.
  mutating func passZone(_ word: Span<UInt8>) -> Bool {
    _ = ["Z", "z", "+dd:dd", "-dd:dd"].contains { pass($0, word) }
    return true
  }

  /// Reads text of a given shape, in which `d` is any digit.
  mutating func pass(_ shape: String, _ word: Span<UInt8>) -> Bool {
    var end = offset
    for byte in shape.utf8 {
      guard end < word.count,
        byte == UInt8(ascii: "d") ? isDigit(word[end], radix: 10) : word[end] == byte
      else { return false }
      end += 1
    }
    offset = end
    return true
  }

  /// Reads one or more digits, with single underscores between them.
  private mutating func passDigits(_ word: Span<UInt8>, radix: Int = 10) -> Bool {
    let start = offset
    while offset < word.count {
      let isUnderscore = word[offset] == UInt8(ascii: "_") && offset > start
      let digit = offset + (isUnderscore ? 1 : 0)
      guard digit < word.count, isDigit(word[digit], radix: radix) else { break }
      offset = digit + 1
    }
    return offset > start
  }
}

private func isDigit(_ byte: UInt8, radix: Int) -> Bool {
  byte.hexadecimalValue.map { $0 < radix } ?? false
}
