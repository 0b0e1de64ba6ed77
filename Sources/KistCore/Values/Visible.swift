/// Returns a text on one line, with each misleading character escaped, for example as `\u{1b}`.
///
/// Every text from outside passes through this function before it reaches a terminal: names, paths,
/// variables, replies and messages of other programs. Applying it again changes nothing.
///
/// - Parameter isEscaped: Selects the characters to escape; by default those that mislead on a
///   terminal.
package func visible(
  _ text: String, escaping isEscaped: (Unicode.Scalar) -> Bool = \.isMisleading
) -> String {
  text.unicodeScalars.reduce(into: "") { line, scalar in
    if isEscaped(scalar) {
      line += "\\u{" + String(scalar.value, radix: 16) + "}"
    } else {
      line.unicodeScalars.append(scalar)
    }
  }
}

extension Unicode.Scalar {
  /// Whether a terminal obeys the character, or the character ends, reorders or hides part of a
  /// line.
  ///
  /// These are control and format characters, line separators, and characters that Unicode does not
  /// show.
  package var isMisleading: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    // Variation selectors choose between forms of the preceding character, as with emoji.
    default: properties.isDefaultIgnorableCodePoint && !properties.isVariationSelector
    }
  }

  /// Whether the character is C0, DEL or C1, which the name of a credential must not contain.
  ///
  /// Unicode will not add others to the category Cc, so this needs no table.
  package var isControl: Bool { value < 0x20 || (0x7F..<0xA0).contains(value) }
}
