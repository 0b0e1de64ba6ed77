internal import KistCore

/// Makes every error to a change say what became of the change.
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
  /// What became of a change whose error does not say so itself: `unknown`, unless this kind of
  /// error is only ever given instead of a change.
  fileprivate var outcome: StorageError.Outcome {
    switch self {
    case .notFound, .conflict, .expired, .locked, .denied, .tooLarge, .corrupt, .wrongPassphrase,
      .busy, .badRequest, .unknownOperation:
      .unchanged
    case .internal, .unavailable, .timeout, .full: .unknown
    }
  }
}
