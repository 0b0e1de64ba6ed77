internal import KistCore

/// The name of a record of a vault.
///
/// An adapter makes a key of its database from the id of the vault and the name's `path`.
package enum RecordName: Hashable, Sendable {
  /// The machines of the vault, and the master key for each of them, by the number of the roster.
  ///
  /// All rosters stay, so that a machine can verify each one by the one before.
  case roster(number: UInt64)
  /// What an admin announced about the generation after this one.
  case announcement(generation: UInt32)
  /// The description of the last change of a generation.
  case head(generation: UInt32)
  /// The head that a change wrote, by the sequence of that change.
  case logEntry(generation: UInt32, sequence: UInt64)
  /// A credential, by its key tag.
  case row(generation: UInt32, key: RecordID)
  /// What a machine has seen, by the id of the machine.
  case seen(machine: RecordID)

  /// The generation of the record; `nil` for a record of the whole vault.
  package var generation: UInt32? {
    switch self {
    case .roster, .seen: nil
    case .announcement(let generation), .head(let generation), .logEntry(let generation, _),
      .row(let generation, _):
      generation
    }
  }

  /// The name as ASCII text, such as `00000001/row/…`.
  ///
  /// Numbers are hexadecimal, 8 digits for a generation and 16 for a sequence. So the order of the
  /// texts is the order of the numbers.
  package var path: String {
    switch self {
    case .roster(let number): "roster/\(hexadecimal(number))"
    case .announcement(let generation): "\(hexadecimal(generation))/next"
    case .head(let generation): "\(hexadecimal(generation))/head"
    case .logEntry(let generation, let sequence):
      "\(hexadecimal(generation))/log/\(hexadecimal(sequence))"
    case .row(let generation, let key): "\(hexadecimal(generation))/row/\(key)"
    case .seen(let machine): "seen/\(machine)"
    }
  }

  /// Reads a name; `nil` if the text is not exactly the path of a name.
  package init?(path: String) {
    let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { Substring($0) }
    switch parts.count {
    case 2 where parts[0] == "roster":
      guard let number = value(of: parts[1], UInt64.self) else { return nil }
      self = .roster(number: number)
    case 2 where parts[0] == "seen":
      guard let machine = RecordID(hexadecimal: parts[1]) else { return nil }
      self = .seen(machine: machine)
    case 2 where parts[1] == "next":
      guard let generation = value(of: parts[0], UInt32.self) else { return nil }
      self = .announcement(generation: generation)
    case 2 where parts[1] == "head":
      guard let generation = value(of: parts[0], UInt32.self) else { return nil }
      self = .head(generation: generation)
    case 3 where parts[1] == "log":
      guard let generation = value(of: parts[0], UInt32.self),
        let sequence = value(of: parts[2], UInt64.self)
      else { return nil }
      self = .logEntry(generation: generation, sequence: sequence)
    case 3 where parts[1] == "row":
      guard let generation = value(of: parts[0], UInt32.self),
        let key = RecordID(hexadecimal: parts[2])
      else { return nil }
      self = .row(generation: generation, key: key)
    default: return nil
    }
  }
}

/// Sixteen bytes that name a record: a key tag, or the id of a machine.
package struct RecordID: Hashable, Comparable, Sendable {
  /// The size in bytes.
  package static let size = 16

  /// The bytes, the first of which is the most significant.
  private let words: Words128

  private var number: UInt128 { words.number }

  /// Copies 16 bytes; returns `nil` for another number of bytes.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.size else { return nil }
    words = Words128(bytes.reduce(0) { $0 << 8 | UInt128($1) })
  }

  /// Reads 32 lower-case hexadecimal digits; `nil` for any other text.
  package init?(hexadecimal digits: some StringProtocol) {
    guard let number = value(of: digits, UInt128.self) else { return nil }
    words = Words128(number)
  }

  /// The bytes.
  package var bytes: [UInt8] {
    (0..<Self.size).map { UInt8(truncatingIfNeeded: number >> (120 - 8 * $0)) }
  }

  var firstByte: UInt8 { UInt8(truncatingIfNeeded: number >> 120) }

  /// Orders by the bytes.
  package static func < (left: Self, right: Self) -> Bool { left.number < right.number }
}

extension RecordID: CustomStringConvertible {
  /// The bytes in 32 hexadecimal digits.
  package var description: String { hexadecimal(number) }
}

/// Reads a number with all its digits, in lower case; `nil` for any other text.
private func value<Number: FixedWidthInteger>(
  of digits: some StringProtocol, _: Number.Type
) -> Number? {
  var (number, count) = (0 as Number, 0)
  for digit in digits.utf8 {
    let digitValue: UInt8
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digitValue = digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digitValue = digit - UInt8(ascii: "a") + 10
    default: return nil
    }
    number = number << 4 | Number(digitValue)
    count += 1
  }
  return count == Number.bitWidth / 4 ? number : nil
}

private func hexadecimal(_ number: some FixedWidthInteger) -> String {
  let digits = String(number, radix: 16)
  return String(repeating: "0", count: number.bitWidth / 4 - digits.utf8.count) + digits
}
