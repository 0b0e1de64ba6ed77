internal import KistCore

/// Adds the outcome of the change to every error of a change.
func tellingOutcome<Input, Output>(
  _ change: @escaping @Sendable (Input) async throws(StorageError) -> Output
) -> @Sendable (Input) async throws(StorageError) -> Output {
  { input throws(StorageError) in
    do throws(StorageError) { return try await change(input) } catch {
      throw error.withOutcome(error.code.outcome)
    }
  }
}

extension StorageError.Code {
  /// The outcome of a change if its error does not contain one.
  ///
  /// It is `unknown`, except for codes that only occur if nothing was changed.
  fileprivate var outcome: StorageError.Outcome {
    switch self {
    case .notFound, .conflict, .expired, .locked, .denied, .tooLarge, .corrupt, .wrongPassphrase,
      .busy, .badRequest, .unknownOperation:
      .unchanged
    case .internal, .unavailable, .timeout, .full: .unknown
    }
  }
}
