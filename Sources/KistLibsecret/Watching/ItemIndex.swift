internal import KistCore

/// The items that store credentials, as watchers know them.
struct ItemIndex {
  private var keys: [ObjectPath: CredentialKey] = [:]
  private var items: [CredentialKey: [Item]] = [:]

  init(_ items: [Item]) {
    for item in items { _ = put(item, at: item.path) }
  }

  /// Replaces the item at a path, and returns the resulting changes of the credentials.
  ///
  /// - Parameters:
  ///   - item: `nil` if the item is gone, or no longer stores a credential.
  ///   - isTouched: whether there may be an invisible change, such as of the secret alone.
  mutating func put(
    _ item: Item?, at path: ObjectPath, isTouched: Bool = false
  ) -> [CredentialChange] {
    var affected = [keys[path]].compactMap(\.self)
    if let key = item?.summary.key, key != affected.first { affected.append(key) }
    let before = affected.map { newest(of: $0) }
    if let key = keys.removeValue(forKey: path) {
      items[key]?.removeAll { $0.path == path }
      if items[key]?.isEmpty == true { items[key] = nil }
    }
    if let item {
      keys[path] = item.summary.key
      items[item.summary.key, default: []].append(item)
    }
    return zip(affected, before).compactMap { key, before in
      guard let after = newest(of: key) else { return before == nil ? nil : .deleted(key, nil) }
      let revision = after.summary.revision
      let isSame = before?.summary.revision == revision && !(isTouched && after.path == path)
      return isSame ? nil : .saved(key, revision)
    }
  }

  private func newest(of key: CredentialKey) -> Item? {
    items[key]?.max { $1.isNewer(than: $0) }
  }
}
