import Foundation
import KistCore
import KistFile
import KistTesting
import KistWire
import Testing

@testable import KistDaemon

/// What is in its place.
private enum Plant: String, CaseIterable, Sendable {
  case pipe, folder, link, others, large

  func put(at path: String) throws {
    let manager = FileManager.default
    try manager.moveItem(atPath: path, toPath: path + ".moved")
    switch self {
    case .pipe: #expect(unsafe mkfifo(path, 0o600) == 0)
    case .folder: try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
    case .link: try manager.createSymbolicLink(atPath: path, withDestinationPath: path + ".moved")
    case .others:
      try manager.copyItem(atPath: path + ".moved", toPath: path)
      #expect(unsafe chown(path, 65534, 65534) == 0)
    case .large:
      try Data(repeating: 0x61, count: 1 << 20).write(to: URL(filePath: path))
      try manager.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
  }
}

@Suite(.timeLimit(.minutes(2)), .needsRoot("to give files away"))
struct `In the place of a small file` {
  @Test(arguments: Plant.allCases)
  fileprivate func `that has the passphrase, anything else is refused by name at once`(
    plant: Plant
  ) async throws {
    try await withDirectory { directory in
      let path = directory + "/passphrase"
      try Data("correct horse".utf8).write(to: URL(filePath: path))
      try plant.put(at: path)
      let error = try #require(throws: StorageError.self) {
        try EncryptedFile.checkPlaces(
          EncryptedFile.Options(
            path: directory + "/credentials.db", keySource: .passphraseFile(path: path)))
      }
      #expect(error.message.contains(path) && error.hint != nil)
    }
  }

  @Test(arguments: Plant.allCases.filter { $0 != .large })
  fileprivate func `of a process lock or the audit log, anything else is refused by name at once`(
    plant: Plant
  ) async throws {
    try await withDirectory { directory in
      let path = directory + "/file"
      try Data("1\n".utf8).write(to: URL(filePath: path))
      try plant.put(at: path)
      let attempts: [() throws -> Void] = [
        { _ = try ProcessLock(at: path, hint: "") { _ in .notFound } },
        { try ProcessLock.checkIsFree(at: path, hint: "") { _ in .notFound } },
        { _ = try BackwardLines(path, hint: "") },
        {
          try AuditFile(path: path, limit: 1 << 20).append("{}\n")
        },
      ]
      for attempt in attempts {
        let error = try #require(throws: StorageError.self) { try attempt() }
        #expect(error.code == .denied)
        #expect(error.message.contains(path) && error.hint?.isEmpty == false)
      }
    }
  }

  @Test func `of the pin, nothing is read in a directory that others may write to`() async throws {
    try await withHome { home in
      let folder = (home.pin.path as NSString).deletingLastPathComponent
      #expect(unsafe chmod(folder, 0o770) == 0)
      let writable = try #require(throws: StorageError.self) { try home.pin.read() }
      #expect(writable.message.contains("in a directory that other users may write to"))
      #expect(writable.hint?.hasPrefix("`chmod 700 ") == true)
      #expect(unsafe chmod(folder, 0o700) == 0 && chown(folder, 65534, 65534) == 0)
      let foreign = try #require(throws: StorageError.self) { try home.pin.read() }
      #expect(foreign.message.contains("in a directory that belongs to another user"))
    }
  }
}
