package import KistCore

extension EncryptedFile {
  /// The result of an examination of a whole store.
  package struct Examination: Sendable, Equatable {
    /// A fault of the store.
    package struct Fault: Sendable, Equatable {
      /// The part of the store that has the fault.
      package enum Part: String, Sendable {
        /// The files: those of the store, or one that must not be beside it.
        case files
        /// The data that SQLite maintains: pages, trees, the schema.
        case database
        /// A key slot.
        case slot
        /// The sealed data about the whole store.
        case header
        /// One credential, or several whose names are not known.
        case credential
        /// All credentials together.
        case credentials
        /// The age of the store according to its progress note.
        case progress
      }

      package var part: Part
      /// What is wrong, as a clause.
      package var message: String
      /// The key of the credential, where its name is authentic.
      package var key: CredentialKey?
      /// What to do, where this fault has special advice.
      package var hint: String?
    }

    /// The faults; empty for an undamaged store.
    package var faults: [Fault] = []
    /// Why the key is not available; sealed data was then not examined.
    package var locked: StorageError?
    /// The number of credentials according to the header; `nil` where it could not be read.
    package var counted: Int?
    /// The number of credentials found.
    package var found = 0
    /// The number of those with authentic metadata and an authentic secret.
    package var good = 0
    /// The numbers of the key slots whose kinds this version does not know.
    package var unknownSlots: [UInt32] = []
    /// The number of authentic credentials with fields of a later version of kist.
    package var extended = 0

    package init() {}

    /// Whether no credential is missing or damaged.
    package var isComplete: Bool { counted == good && found == good }

    mutating func note(_ part: Fault.Part, _ message: String, _ key: CredentialKey? = nil) {
      let fault = Fault(part: part, message: message, key: key)
      // SQLite reports the same fault for each item that it cannot read.
      if faults.last != fault { faults.append(fault) }
    }

    /// Records an error that describes a fault of the store, and throws any other.
    mutating func note(_ part: Fault.Part, _ error: StorageError) throws(StorageError) {
      guard error.code == .corrupt else { throw error }
      note(part, error.message)
    }
  }
}
