internal import KistCore

/// The object that a path names.
package enum ObjectPath: Hashable, Sendable {
  case service
  /// A collection by its identifier, as it is in the path.
  case collection(String)
  /// An item, by the identifiers of its collection and of itself.
  case item(collection: String, item: String)
  case session(String)
  case prompt(String)
  /// The back end of the portal.
  case portal
  /// A request of the portal, by its path.
  case request(String)
  /// Only a node above objects: `/`, `/org`, `…/collection` and others.
  case node(String)

  package static let root = "/org/freedesktop/secrets"
  static let portalRoot = "/org/freedesktop/portal/desktop"
  static let requests = portalRoot + "/request/"

  /// Returns the object that a path names, with aliases replaced by the function.
  package init?(_ path: String, alias: (String) -> String?) {
    // Nearly every call is for the service.
    if path == Self.root {
      self = .service
      return
    }
    guard path.hasPrefix(Self.root) else {
      self.init(outsideOfSecrets: path)
      return
    }
    guard let parts = path.elements(after: Self.root) else { return nil }
    switch (parts.first, parts.count) {
    case (nil, _): self = .service
    case ("collection", 1), ("aliases", 1), ("session", 1), ("prompt", 1): self = .node(path)
    case ("collection", 2): self = .collection(parts[1])
    case ("collection", 3): self = .item(collection: parts[1], item: parts[2])
    case ("aliases", 2), ("aliases", 3):
      guard let collection = alias(parts[1]) else { return nil }
      self =
        parts.count == 2 ? .collection(collection) : .item(collection: collection, item: parts[2])
    case ("session", 2): self = .session(parts[1])
    case ("prompt", 2): self = .prompt(parts[1])
    default: return nil
    }
  }

  private init?(outsideOfSecrets path: String) {
    if path == Self.portalRoot {
      self = .portal
    } else if path.utf8.starts(with: Self.requests.utf8) {
      self = .request(path)
    } else {
      guard !Self.nodes(below: path).isEmpty else { return nil }
      self = .node(path)
    }
  }

  /// The names of the nodes directly below a path that lead to the service or to the portal.
  static func nodes(below path: String) -> [String] {
    let start = path == "/" ? path : path + "/"
    let names = [root, portalRoot].filter { $0.utf8.starts(with: start.utf8) }.compactMap { root in
      root.dropFirst(start.count).split(separator: "/").first.map(String.init)
    }
    return names.first == names.last ? Array(names.prefix(1)) : names
  }

  /// The real path of the object.
  package var path: String {
    switch self {
    case .service: Self.root
    case .collection(let collection): "\(Self.root)/collection/\(collection)"
    case .item(let collection, let item): "\(Self.root)/collection/\(collection)/\(item)"
    case .session(let session): "\(Self.root)/session/\(session)"
    case .prompt(let prompt): "\(Self.root)/prompt/\(prompt)"
    case .portal: Self.portalRoot
    case .node(let path), .request(let path): path
    }
  }

  /// The path that means no object.
  package static let none = "/"
}

extension String {
  /// Returns the elements of a path that begins with `root`; `nil` if no `/` follows it.
  ///
  /// Reading bytes is several times faster than splitting a string, and each call needs this.
  fileprivate func elements(after root: String) -> [String]? {
    withBytes { path in
      var start = root.utf8.count
      guard start == path.count || path[start] == UInt8(ascii: "/") else { return nil }
      var elements: [String] = []
      elements.reserveCapacity(4)
      for place in start...path.count
      where place == path.count || path[place] == UInt8(ascii: "/") {
        if place > start { elements.append(String(repairing: path.extracting(start..<place))) }
        start = place + 1
      }
      return elements
    }
  }

  /// Returns the text as an element of a path, as gnome-keyring encodes it.
  ///
  /// Every byte except ASCII letters and digits becomes `_xx`. Some programs find a collection by
  /// decoding its path.
  var asPathElement: String {
    var element = ""
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        element.unicodeScalars.append(Unicode.Scalar(byte))
      default: element += "_" + byte.inHexadecimal
      }
    }
    return element
  }
}

extension UInt8 {
  var inHexadecimal: String {
    let digits = String(self, radix: 16)
    return digits.utf8.count < 2 ? "0" + digits : digits
  }
}

extension UInt64 {
  /// The number in 16 hexadecimal digits.
  var inHexadecimal: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}
