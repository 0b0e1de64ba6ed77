extension Unicode.Scalar {
  /// Whether a terminal obeys it, or it would end, reorder or hide a part of a line there: a control or
  /// format character, a separator of lines, or one that Unicode keeps free for such as are not shown.
  package var isMisleading: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    case .unassigned: properties.isDefaultIgnorableCodePoint
    default: false
    }
  }
}
