package import KistCore

extension [SaveRequest] {
  /// Portions to be saved one after another, and each at once.
  ///
  /// No two for one host are in the same: a tool takes the newest of them, which must not be chance.
  package var portionsByAge: [[SaveRequest]] {
    var portions: [[SaveRequest]] = []
    var hosts: Set<String> = []
    for request in self {
      let host = request.credential.hostOfTool
      let isFull = portions.last.map { $0.count == largestPortion } ?? true
      if isFull || host.map(hosts.contains) ?? false {
        portions.append([])
        hosts = []
      }
      portions[portions.count - 1].append(request)
      if let host { hosts.insert(host) }
    }
    return portions
  }
}

extension NewCredential {
  /// What a tool looks for when it takes the newest of several; `nil` where no tool has saved it.
  fileprivate var hostOfTool: String? {
    guard attributes[Attributes.toolName] != nil else { return nil }
    return attributes["host"] ?? key.service
  }
}
