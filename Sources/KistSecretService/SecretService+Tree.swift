extension SecretService {
  /// Returns the names of the nodes directly below an object.
  package func children(of object: ObjectPath) async throws(ServiceError) -> [String] {
    switch object {
    case .service: return ["aliases", "collection", "prompt", "session"]
    case .collection(let collection):
      do throws(ServiceError) { try await ready() } catch  where error == .isLocked {}
      return paths(in: collection).map(\.lastElement)
    case .item, .session, .prompt, .portal, .request: return []
    case .node(let path):
      switch path {
      case ObjectPath.root + "/aliases": return ["default", Collection.login, Collection.session]
      case ObjectPath.root + "/collection": return try await knownCollections().map(\.lastElement)
      // The sessions and prompts of other programs are not listed.
      case ObjectPath.root + "/session", ObjectPath.root + "/prompt": return []
      default: return ObjectPath.nodes(below: path)
      }
    }
  }

  /// Returns whether an object exists now, as far as that is known without kistd.
  package func exists(_ object: ObjectPath, for client: String) -> Bool {
    switch object {
    case .session(let identifier): sessions.has(identifier, of: client)
    case .prompt(let identifier): prompts[identifier]?.client == client
    case .request(let path): portalRequests[path]?.client == client
    case .item(_, let item) where item.isOfLockedSearch: lockedSearches[item]?.client == client
    case .service, .node, .collection, .item, .portal: true
    }
  }
}

extension String {
  fileprivate var lastElement: String { split(separator: "/").last.map(String.init) ?? "" }
}
