internal import KistCore
internal import KistJSON

extension Operation where Input == BackupRequest, Output == BackupProgress {
  /// Copies all credentials into a file under a passphrase of its own.
  static var backup: Self {
    Operation(
      name: "backup", keys: ["passphrase", "weak", "backup"], request: backupRequest,
      reply: backupProgress)
  }
}

extension Operation where Input == BackupPart, Output == Secret {
  /// Reads a part of that file.
  static var backupPart: Self {
    Operation(
      name: "backupPart", keys: ["backup", "offset"], request: partRequest, reply: dataMember)
  }
}

private let backupRequest = Codec<BackupRequest>(
  read: { object throws(JSONError) in
    guard let id = object["backup"] else {
      return .begin(
        passphrase: try object.required("passphrase").secret(),
        allowsWeak: try object["weak"]?.bool() ?? false)
    }
    if object["passphrase"] != nil { throw id.error("and `passphrase` are both there") }
    if object["weak"] != nil { throw id.error("and `weak` are both there") }
    return .goOn(id: try id.string())
  },
  write: { request, writer throws(StorageError) in
    switch request {
    case .begin(let passphrase, let allowsWeak):
      try writer.member("passphrase", passphrase: passphrase)
      if allowsWeak { writer.member("weak", true) }
    case .goOn(let id): writer.member("backup", id)
    }
  })

private let dataMember = Codec<Secret>(
  read: { object throws(JSONError) in try object.required("data").base64() },
  write: { data, writer in writer.member("data", base64: data) })

private let partRequest = Codec<BackupPart>(
  read: { object throws(JSONError) in
    BackupPart(
      of: try object.required("backup").string(), from: try object.required("offset").integer())
  },
  write: { part, writer in
    writer.member("backup", part.id)
    writer.member("offset", part.offset)
  })

private let backupProgress = Codec<BackupProgress>(
  read: { object throws(JSONError) in
    let id = try object.required("backup").string()
    let count = try object.required("count").integer()
    guard let copied = object["copied"] else {
      return .made(Backup(id: id, size: try object.required("size").integer(), count: count))
    }
    return .copied(try copied.integer(), of: count, id: id)
  },
  write: { progress, writer in
    switch progress {
    case .copied(let done, let all, let id):
      writer.member("backup", id)
      writer.member("copied", done)
      writer.member("count", all)
    case .made(let backup):
      writer.member("backup", backup.id)
      writer.member("size", backup.size)
      writer.member("count", backup.count)
    }
  })
