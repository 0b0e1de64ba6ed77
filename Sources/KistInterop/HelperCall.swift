package import KistCore

/// What a tool tells a helper when it starts it.
package struct HelperCall: Sendable {
  /// The most bytes that a helper reads from its standard input: 1 MiB.
  package static let longestInput = 1 << 20

  /// The words after the program's name, or after the tool's where that is a word.
  package var arguments: [String]
  /// The value of a variable of the environment.
  package var variable: @Sendable (String) -> String?
  /// Reads standard input to its end; throws `tooLarge` where that is further than `longestInput`.
  package var readInput: @Sendable () throws(StorageError) -> Secret
  /// The present.
  package var now: @Sendable () -> Timestamp

  package init(
    arguments: [String], variable: @escaping @Sendable (String) -> String?,
    readInput: @escaping @Sendable () throws(StorageError) -> Secret,
    now: @escaping @Sendable () -> Timestamp
  ) {
    self.arguments = arguments
    self.variable = variable
    self.readInput = readInput
    self.now = now
  }
}
