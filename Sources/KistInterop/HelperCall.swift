package import KistCore

/// The input of a helper that a tool starts.
package struct HelperCall: Sendable {
  /// The most bytes that a helper reads from its standard input: 1 MiB.
  package static let longestInput = 1 << 20

  /// The words after the program's name, or after the tool's if that is the first word.
  package var arguments: [String]
  /// Returns the value of an environment variable.
  package var variable: @Sendable (String) -> String?
  /// Reads standard input to its end; throws `tooLarge` for more than `longestInput` bytes.
  package var readInput: @Sendable () throws(StorageError) -> Secret
  /// Returns the current time.
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
