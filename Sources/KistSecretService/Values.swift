package import KistCore

/// A value of a property.
package enum PropertyValue: Equatable, Sendable {
  case text(String)
  case flag(Bool)
  case seconds(UInt64)
  case number(UInt32)
  case paths([String])
  case texts(Attributes)
}

/// A property and its value.
package struct Property: Equatable, Sendable {
  package let name: String
  package let value: PropertyValue

  package init(_ name: String, _ value: PropertyValue) { (self.name, self.value) = (name, value) }
}

/// A secret as a program sends it, encrypted for a session.
package struct SentSecret: Sendable {
  package var session: String
  package var parameters: [UInt8]
  package var value: Secret
  package var contentType: String

  package init(session: String, parameters: [UInt8], value: Secret, contentType: String) {
    self.session = session
    self.parameters = parameters
    self.value = value
    self.contentType = contentType
  }

  /// The bytes of all parts.
  var size: Int {
    session.utf8.count + parameters.count + value.count + contentType.utf8.count
  }
}

/// A signal to the programs on the bus.
package enum ServiceSignal: Equatable, Sendable {
  package enum Change: String, Sendable {
    case created = "Created", changed = "Changed", deleted = "Deleted"
  }

  /// An item changed; the path of its collection, and its own.
  case item(Change, collection: String, path: String)
  case collection(Change, path: String)
  case properties(path: String, interface: String, [Property])
  /// A prompt has ended; only its owner learns of it.
  case completed(prompt: String, client: String, isDismissed: Bool, PropertyValue)
}

/// The names of the interfaces.
package enum InterfaceName {
  package static let service = "org.freedesktop.Secret.Service"
  package static let collection = "org.freedesktop.Secret.Collection"
  package static let item = "org.freedesktop.Secret.Item"
  package static let session = "org.freedesktop.Secret.Session"
  package static let prompt = "org.freedesktop.Secret.Prompt"
  package static let portal = "org.freedesktop.impl.portal.Secret"
  package static let request = "org.freedesktop.impl.portal.Request"
}

/// The limits of what programs on the bus can make the service keep.
package enum ServiceLimits {
  /// The sessions of one program.
  package static let sessions = 1024
  /// The prompts of one program that have not ended.
  package static let prompts = 64
  /// The bytes of the paths of one prompt, and of the name of its window.
  package static let promptBytes = 1 << 20
  package static let windowBytes = 1024
  /// How often a prompt asks for the passphrase.
  package static let passphrases = 3
  /// The collections besides the default one and the one in memory.
  package static let collections = 256
  /// The bytes of a collection's label.
  package static let collectionLabel = 256
  /// The items in memory, and the bytes of their secrets and texts.
  package static let memoryItems = 1024
  package static let memoryBytes = 8 << 20
  /// The calls of one program that wait, some programs read all items at once, and their bytes.
  package static let waitingCalls = 32_768
  package static let waitingBytes = 64 << 20
  /// The requests of one program for secrets of applications that are being answered.
  package static let portalCalls = 64
  /// The paths in one call.
  package static let paths = 100_000
  /// The bytes of the secrets, the paths and the content types in one reply.
  package static let replyBytes = 32 << 20
  /// The locked items of one program that take the place of a search.
  package static let lockedSearches = 64
  /// The bytes of the attributes of one such search; no credential has as many.
  package static let lockedSearchBytes = 32 << 10
}
