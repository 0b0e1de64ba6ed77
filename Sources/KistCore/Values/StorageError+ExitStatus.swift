extension StorageError.Code {
  /// Returns the code for an exit status of `kist` or `kistd`, or `nil` where no error has it.
  package init?(exitStatus: Int32) {
    guard let code = Self.allCases.first(where: { $0.exitStatus == exitStatus }) else { return nil }
    self = code
  }

  /// The exit status of `kist` and `kistd` for an error; it never changes between versions.
  package var exitStatus: Int32 {
    switch self {
    case .internal: 1
    case .notFound: 2
    case .conflict: 3
    case .expired: 4
    case .locked: 5
    case .denied: 6
    case .unavailable: 7
    case .timeout: 8
    case .tooLarge: 9
    case .corrupt: 10
    case .wrongPassphrase: 11
    case .busy: 12
    case .full: 13
    case .badRequest, .unknownOperation: 64
    }
  }
}
