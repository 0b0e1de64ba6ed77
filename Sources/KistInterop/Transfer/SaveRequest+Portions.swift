package import KistCore

extension [SaveRequest] {
  /// The portions to save one after another; each portion is saved concurrently.
  ///
  /// A portion has at most one credential for a host. A tool uses the newest of several, which must
  /// not depend on chance.
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
  /// The name by which a tool looks for the newest of several; `nil` if no tool saved it.
  fileprivate var hostOfTool: String? {
    guard attributes[Attributes.toolName] != nil else { return nil }
    return attributes["host"] ?? key.service
  }
}
