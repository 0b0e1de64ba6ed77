package import KistCore
package import KistJSON

/// The storage that kistd would open now, as `kistd probe` reports it to `kist doctor`.
package struct StorageDiagnosis: Sendable, Equatable {
  /// A storage, and the reason for choosing it.
  package struct Choice: Sendable, Equatable {
    /// The name of the storage in `status`.
    package var storage: String
    package var reason: String

    package init(storage: String, reason: String) {
      self.storage = storage
      self.reason = reason
    }
  }

  /// The storage, or the reason why there is none.
  package var choice: Result<Choice, StorageError>
  /// The state of the keyring, whether or not it is chosen.
  package var keyring: StorageProbe

  package init(choice: Result<Choice, StorageError>, keyring: StorageProbe) {
    self.choice = choice
    self.keyring = keyring
  }
}

extension StorageDiagnosis: JSONMembers {
  /// Writes the choice and the state of the keyring.
  package func write(to writer: inout JSONWriter) {
    switch choice {
    case .success(let choice):
      writer.member("storage", choice.storage)
      writer.member("reason", choice.reason)
    case .failure(let error): writer.member("error", object: error)
    }
    writer.member("keyring", object: keyring)
  }

  /// Reads such an object; returns `nil` for any other text.
  package init?(_ text: String) {
    guard
      let object = try? JSONObject(Secret(utf8: text)),
      let keyring = try? StorageProbe(object.required("keyring").object())
    else { return nil }
    if let error = try? object["error"]?.object() {
      guard let error = try? StorageError(error) else { return nil }
      self.init(choice: .failure(error), keyring: keyring)
    } else {
      guard
        let storage = try? object.required("storage").string(),
        let reason = try? object.required("reason").string()
      else { return nil }
      self.init(choice: .success(Choice(storage: storage, reason: reason)), keyring: keyring)
    }
  }
}

extension StorageProbe: JSONMembers {
  fileprivate init(_ object: JSONObject) throws(JSONError) {
    if let error = try object["error"]?.object() {
      self = .unusable(try StorageError(error))
    } else if try object.required("locked").bool() {
      self = .locked
    } else {
      self = .open(hasCredentials: try object.required("hasCredentials").bool())
    }
  }

  /// Writes the state without the id of a store.
  package func write(to writer: inout JSONWriter) {
    switch self {
    case .open(let hasCredentials, _):
      writer.member("locked", false)
      writer.member("hasCredentials", hasCredentials)
    case .locked: writer.member("locked", true)
    case .unusable(let error): writer.member("error", object: error)
    }
  }
}
