package import KistCore
package import KistJSON

extension StorageStatus: JSONMembers {
  /// Reads the output of `kist status --json`; returns `nil` for any other text.
  package init?(_ text: String) {
    guard let object = try? JSONObject(Secret(utf8: text)), let status = try? Self(object) else {
      return nil
    }
    self = status
  }

  init(_ object: JSONObject) throws(JSONError) {
    self.init(
      storage: try object.required("storage").string(), path: try object["path"]?.string(),
      reason: try object["reason"]?.string(),
      isLocked: try object.required("locked").bool(),
      unlocksWith: (try object["unlocksWith"]?.string()).map(Unlocking.init),
      reopensAtRestart: try object.required("reopensAtRestart").bool(),
      durability: Durability(rawValue: try object.required("durability").string()),
      keyProtection: try object.required("keyProtection").string(),
      isSessionEncrypted: try object["sessionEncrypted"]?.bool(),
      keysInRAM: try object["keysInRAM"]?.bool(),
      integrity: (try object["integrity"]?.string()).map(Integrity.init),
      problem: try object["problem"].map { (value) throws(JSONError) in
        try StorageError(value.object())
      },
      count: try object["count"]?.integer(),
      vault: try object["vault"].map { (value) throws(JSONError) in
        try SharedVaultStatus(value.object())
      },
      uptime: try object["uptime"]?.integer())
  }

  /// Writes the members of `status` in a reply.
  package func write(to writer: inout JSONWriter) {
    writer.member("storage", storage)
    writer.member("path", path)
    writer.member("reason", reason)
    writer.member("locked", isLocked)
    writer.member("unlocksWith", unlocksWith?.rawValue)
    writer.member("reopensAtRestart", reopensAtRestart)
    writer.member("durability", durability.rawValue)
    writer.member("keyProtection", keyProtection)
    writer.member("sessionEncrypted", isSessionEncrypted)
    writer.member("keysInRAM", keysInRAM)
    writer.member("integrity", integrity?.rawValue)
    if let problem { writer.member("problem", object: problem) }
    writer.member("count", count)
    if let vault { writer.member("vault", object: vault) }
    writer.memberLimits()
    writer.member("uptime", uptime)
  }
}

extension SharedVaultStatus: JSONMembers {
  fileprivate init(_ object: JSONObject) throws(JSONError) {
    self.init(
      members: try object.required("members").integer(),
      generation: try object.required("generation").integer(),
      head: try object.required("head").revision(),
      confirmedAgo: try object.required("confirmedAgo").integer(),
      isCopyComplete: try object.required("copyComplete").bool(),
      warnings: try object["warnings"]?.texts() ?? [])
  }

  /// Writes the members of `vault` in a status.
  package func write(to writer: inout JSONWriter) {
    writer.member("members", members)
    writer.member("generation", generation)
    writer.member("head", head.rawValue)
    writer.member("confirmedAgo", confirmedAgo)
    writer.member("copyComplete", isCopyComplete)
    if !warnings.isEmpty { writer.member("warnings", arrayOf: warnings) { $1.element($0) } }
  }
}

extension JSONWriter {
  /// Writes the limits for other clients; kist itself does not read them.
  mutating func memberLimits() {
    member("limits") { writer in
      let limits: [(StaticString, Int)] = [
        ("line", Limits.line), ("secret", Limits.secret), ("service", Limits.keyPart),
        ("account", Limits.keyPart), ("label", Limits.label), ("attributes", Limits.attributes),
        ("attributeName", Limits.attributeName), ("attributeValue", Limits.attributeValue),
        ("attributesTotal", Limits.attributesTotal), ("page", Limits.page),
        ("passphrase", Limits.passphrase),
      ]
      for (name, limit) in limits { writer.member(name, limit) }
    }
  }
}

extension StorageError: JSONMembers {
  /// Reads an error.
  ///
  /// An unknown code, from a newer kistd, is read as `internal`.
  package init(_ object: JSONObject) throws(JSONError) {
    self.init(
      Code(rawValue: try object.required("code").string()) ?? .internal,
      try object.required("message").string(), hint: try object["hint"]?.string(),
      outcome: (try object["outcome"]?.string()).map { Outcome(rawValue: $0) ?? .unknown },
      current: try object["current"].map { (value) throws(JSONError) in
        value.isNull ? .absent : .revision(try value.revision())
      })
  }

  /// Writes the members of `error` in a reply.
  package func write(to writer: inout JSONWriter) {
    writer.member("code", code.rawValue)
    writer.member("message", message)
    writer.member("hint", hint)
    writer.member("outcome", outcome?.rawValue)
    switch current {
    case nil: break
    case .absent: writer.memberNull("current")
    case .revision(let revision): writer.member("current", revision.rawValue)
    }
  }

  /// The error as a line on standard error, for `--json` of both programs.
  ///
  /// In this line, a JSON escape (`\u…`) replaces each character that misleads on a terminal.
  package var jsonLine: Secret { visible(json: json()).withNewline }
}

/// The storage that kistd would open now, as `kistd probe` reports it to `kist doctor`.
package struct StorageDiagnosis: Sendable, Equatable, JSONMembers {
  /// A storage, and the reason for choosing it.
  package struct Choice: Sendable, Equatable {
    /// The name of the storage in `status`.
    package var storage: String
    package var reason: String
    /// The reason why the storage would be locked; `nil` if it would not, or if this is not known.
    package var whyLocked: StorageError?

    package init(storage: String, reason: String, whyLocked: StorageError? = nil) {
      (self.storage, self.reason, self.whyLocked) = (storage, reason, whyLocked)
    }
  }

  /// A storage that another program provides, and its state.
  package struct External: Sendable, Equatable, JSONMembers {
    /// The name of the storage in `status`.
    package var storage: String
    /// The name of the storage for the user, such as `keyring`.
    package var label: String
    package var probe: StorageProbe

    package init(storage: String, label: String, probe: StorageProbe) {
      (self.storage, self.label, self.probe) = (storage, label, probe)
    }

    fileprivate init(_ object: JSONObject) throws(JSONError) {
      storage = try object.required("storage").string()
      label = try object.required("label").string()
      probe = try StorageProbe(object)
    }

    /// Writes the names and the state.
    package func write(to writer: inout JSONWriter) {
      writer.member("storage", storage)
      writer.member("label", label)
      probe.write(to: &writer)
    }
  }

  /// The storage, or the reason why there is none.
  package var choice: Result<Choice, StorageError>
  /// The storages of other programs, whether or not one is chosen.
  package var external: [External]
  /// The provider of the Secret Service; `nil` if the session bus cannot be reached, or if this kistd
  /// was built without libsecret.
  package var provider: KeyringProvider?

  package init(
    choice: Result<Choice, StorageError>, external: [External], provider: KeyringProvider? = nil
  ) {
    self.choice = choice
    self.external = external
    self.provider = provider
  }

  /// Writes the choice and the storages of other programs.
  package func write(to writer: inout JSONWriter) {
    switch choice {
    case .success(let choice):
      writer.member("storage", choice.storage)
      writer.member("reason", choice.reason)
      if let error = choice.whyLocked { writer.member("locked", object: error) }
    case .failure(let error): writer.member("error", object: error)
    }
    writer.member("external", objects: external)
    if let provider { writer.member("provider", object: provider) }
  }

  /// Reads the output of `kistd probe`; returns `nil` for any other text.
  package init?(_ text: String) {
    do throws(JSONError) {
      let object = try JSONObject(Secret(utf8: text))
      external = try object.objects("external") { (other) throws(JSONError) in try External(other) }
      provider = try object["provider"].map { (value) throws(JSONError) in
        try KeyringProvider(value.object())
      }
      if let error = try? object["error"]?.object() {
        choice = .failure(try StorageError(error))
      } else {
        choice = .success(
          Choice(
            storage: try object.required("storage").string(),
            reason: try object.required("reason").string(),
            whyLocked: try object["locked"].map { (value) throws(JSONError) in
              try StorageError(value.object())
            }))
      }
    } catch { return nil }
  }
}

extension KeyringProvider: JSONMembers {
  /// Reads the output of `kistd probe --provider`; returns `nil` for any other text.
  package init?(_ text: String) {
    guard let object = try? JSONObject(Secret(utf8: text)), let provider = try? Self(object) else {
      return nil
    }
    self = provider
  }

  fileprivate init(_ object: JSONObject) throws(JSONError) {
    let startable = try object["startable"]?.string()
    self.init(startable: startable.flatMap { Startable(rawValue: $0) })
    guard let pid = try object["pid"]?.integer() else { return }
    owner =
      try object["isKist"]?.bool() == true
      ? .kist(pid: pid)
      : .other(
        Running(
          pid: pid, program: try object["program"]?.string(),
          items: try object["items"]?.integer(),
          lockedItems: try object["lockedItems"]?.integer()))
  }

  /// Writes which process provides the Secret Service, and which program the bus would start to
  /// provide it.
  package func write(to writer: inout JSONWriter) {
    switch owner {
    case nil: break
    case .kist(let pid):
      writer.member("pid", pid)
      writer.member("isKist", true)
    case .other(let running):
      writer.member("pid", running.pid)
      writer.member("isKist", false)
      writer.member("program", running.program)
      writer.member("items", running.items)
      writer.member("lockedItems", running.lockedItems)
    }
    writer.member("startable", startable?.rawValue)
  }
}

extension StorageProbe {
  fileprivate init(_ object: JSONObject) throws(JSONError) {
    if let error = try object["error"]?.object() {
      self = .unusable(try StorageError(error))
    } else if try object.required("locked").bool() {
      self = .locked
    } else {
      self = .open(hasCredentials: try object.required("hasCredentials").bool())
    }
  }

  /// Writes the state; leaves out the `id` of an open storage.
  fileprivate func write(to writer: inout JSONWriter) {
    switch self {
    case .open(let hasCredentials, _):
      writer.member("locked", false)
      writer.member("hasCredentials", hasCredentials)
    case .locked: writer.member("locked", true)
    case .unusable(let error): writer.member("error", object: error)
    }
  }
}
