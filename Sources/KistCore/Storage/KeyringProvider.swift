/// The program that provides the Secret Service on the session bus.
package struct KeyringProvider: Sendable, Equatable {
  /// A program that the bus starts for the first client.
  package enum Startable: String, Sendable {
    /// The adapter of kist, `kist-secret-service`.
    case kist
    case other
  }

  /// A running provider of another program.
  package struct Running: Sendable, Equatable {
    package var pid: Int
    /// The name that the process gave itself.
    package var program: String?
    /// The number of items in open collections; `nil` if the provider did not say.
    package var items: Int?
    /// The number of items in locked collections; `nil` if the provider did not say.
    package var lockedItems: Int?

    package init(pid: Int, program: String? = nil, items: Int? = nil, lockedItems: Int? = nil) {
      self.pid = pid
      self.program = program
      self.items = items
      self.lockedItems = lockedItems
    }
  }

  /// The provider that runs now.
  package enum Owner: Sendable, Equatable {
    /// The adapter of kist, `kist-secret-service`.
    case kist(pid: Int)
    case other(Running)
  }

  package var owner: Owner?
  package var startable: Startable?

  package init(owner: Owner? = nil, startable: Startable? = nil) {
    self.owner = owner
    self.startable = startable
  }
}
