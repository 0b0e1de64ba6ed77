extension Hello {
  /// The version of this kistd and kist.
  package static let softwareVersion = "0.1.0"
}
