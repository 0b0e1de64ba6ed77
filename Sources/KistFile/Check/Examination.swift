package import KistCore

extension EncryptedFile {
  /// What was found of a store by whoever looked at all of it.
  package struct Examination: Sendable, Equatable {
    /// Something that is wrong.
    package struct Fault: Sendable, Equatable {
      /// Where it is.
      package enum Part: String, Sendable {
        /// The files: the store's own, or one that has no business beside it.
        case files
        /// What SQLite keeps: pages, trees, the schema.
        case database
        /// A way to open the store.
        case slot
        /// What is sealed of the whole store.
        case header
        /// One credential, or several that cannot be named.
        case credential
        /// All of them together.
        case credentials
      }

      package var part: Part
      /// What is wrong, as a clause.
      package var message: String
      /// Which credential, where its name is authentic.
      package var key: CredentialKey?
    }

    /// What is wrong; of a store that is whole, nothing.
    package var faults: [Fault] = []
    /// Why the key could not be had; what is sealed was not looked at then.
    package var locked: StorageError?
    /// How many credentials there are by the header; `nil` where it could not be read.
    package var counted: Int?
    /// How many were found.
    package var found = 0
    /// How many of those are authentic, metadata and secret.
    package var good = 0

    package init() {}

    /// Whether there are all credentials that there should be.
    package var isComplete: Bool { counted == good && found == good }

    mutating func note(_ part: Fault.Part, _ message: String, _ key: CredentialKey? = nil) {
      let fault = Fault(part: part, message: message, key: key)
      // SQLite says the same of each thing that it cannot read.
      if faults.last != fault { faults.append(fault) }
    }

    /// Notes an error that says what is wrong with the store, and throws any other.
    mutating func note(_ part: Fault.Part, _ error: StorageError) throws(StorageError) {
      guard error.code == .corrupt else { throw error }
      note(part, error.message)
    }
  }
}
