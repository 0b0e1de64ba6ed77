internal import KistCore

/// An entry of a password manager.
struct PasswordEntry {
  var title: String?
  /// A secret, because the user may have put a password into it.
  var url: Secret?
  var username: String?
  var password: Secret?
  /// The parts of it that are not imported.
  var leftOut: Set<LeftOut> = []
  var isArchived = false

  /// Takes the first URL; records that further ones are left out.
  mutating func take(_ url: Secret?) {
    guard let url else { return }
    if self.url == nil { self.url = url }
    if url != self.url { leftOut.insert(.furtherURLs) }
  }

  /// Adds it to a file's credentials.
  ///
  /// The service is the host of its URL, or its title without such a host. The account is its user.
  func add(to file: inout ForeignCredentials, at place: Int) throws(StorageError) {
    guard !isArchived else { return file.leaveOut(.archived, at: place) }
    guard let password else { return file.leaveOut(.withoutPassword, at: place) }
    let service = url.flatMap(host(ofURL:)) ?? title ?? ""
    try file.add(
      NewCredential(
        key: CredentialKey(service: service, account: username ?? ""), secret: password,
        label: title),
      at: place)
    for what in leftOut { file.leaveOut(what, at: place) }
  }
}
