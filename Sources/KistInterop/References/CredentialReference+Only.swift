package import KistCore

extension CredentialReference {
  /// Refuses a reference to a service that is not in `services`, unless that is empty.
  ///
  /// Throws `denied`, which contains the place but not the reference.
  func check(isOfOneOf services: [String], at place: String) throws(StorageError) {
    guard !services.isEmpty, !services.contains(key.service) else { return }
    throw StorageError(
      .denied, "\(place): the reference names a service that `--only` does not allow",
      hint: "nothing was loaded; allow the service with another `--only SERVICE`",
      outcome: .unchanged)
  }
}

extension Variable {
  /// Refuses a reference to a service that is not in `services`, unless that is empty.
  ///
  /// Throws `denied`.
  package func check(only services: [String]) throws(StorageError) {
    guard case .reference(let reference) = value else { return }
    try reference.check(isOfOneOf: services, at: place)
  }
}
