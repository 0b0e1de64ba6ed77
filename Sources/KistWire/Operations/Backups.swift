package import KistCore
internal import KistJSON

extension Operation where Input == Secret, Output == Backup {
  static var backup: Self {
    Operation(name: "backup", keys: ["passphrase"], request: .backupPassphrase, reply: .backup)
  }
}

extension Operation where Input == BackupPart, Output == Secret {
  static var backupPart: Self {
    Operation(name: "backupPart", keys: ["backup", "offset"], request: .backupPart, reply: .data)
  }
}

extension Codec<Secret> {
  fileprivate static var backupPassphrase: Self {
    Self(
      read: { object throws(JSONError) in try object.required("passphrase").secret() },
      write: { passphrase, writer throws(StorageError) in
        try writer.member("passphrase", passphrase: passphrase)
      })
  }

  fileprivate static var data: Self {
    Self(
      read: { object throws(JSONError) in try object.required("data").base64() },
      write: { data, writer in writer.member("data", base64: data) })
  }
}

extension Codec<BackupPart> {
  fileprivate static var backupPart: Self {
    Self(
      read: { object throws(JSONError) in
        BackupPart(
          of: try object.required("backup").string(), from: try object.required("offset").integer())
      },
      write: { part, writer in
        writer.member("backup", part.id)
        writer.member("offset", part.offset)
      })
  }
}

extension Codec<Backup> {
  fileprivate static var backup: Self {
    Self(
      read: { object throws(JSONError) in
        Backup(
          id: try object.required("backup").string(), size: try object.required("size").integer(),
          count: try object.required("count").integer())
      },
      write: { backup, writer in
        writer.member("backup", backup.id)
        writer.member("size", backup.size)
        writer.member("count", backup.count)
      })
  }
}

extension Backup {
  /// The text of one JSON object: what was written where.
  package func json(in file: String) -> Secret {
    JSONWriter.object { writer in
      writer.member("file", file)
      writer.member("size", size)
      writer.member("count", count)
    }
  }
}
