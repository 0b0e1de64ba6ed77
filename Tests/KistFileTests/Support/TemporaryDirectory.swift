import Foundation

/// A directory of a test's own, removed when the test is done with it.
final class TemporaryDirectory: Sendable {
  let path: String

  init(in parent: String = "/tmp") throws {
    var template = Array("\(parent)/kist-test-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw POSIXError(.EIO) }
    path = String(decoding: template.dropLast().map(UInt8.init), as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func callAsFunction(_ name: String) -> String { path + "/" + name }
}
