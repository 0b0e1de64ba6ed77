package import KistCluster
package import KistCore
internal import KistShared

extension Cluster {
  /// Reads records that fit into one answer; throws `corrupt` if the cluster has larger ones.
  func read(_ names: [RecordName]) async throws(StorageError) -> [[UInt8]?] {
    let found: [[UInt8]?]
    do throws(StorageError) { found = try await records(names) } catch {
      throw error.code == .tooLarge ? .largeRecord : error
    }
    guard found.count == names.count else { throw .wrongAnswer }
    return found
  }

  /// Reads a record; returns `nil` if it does not exist.
  package func read(_ name: RecordName) async throws(StorageError) -> [UInt8]? {
    try await read([name])[0]
  }

  /// Reads any number of small records; one that is too large is returned without its bytes.
  func readAll(_ names: [RecordName]) async throws(StorageError) -> [[UInt8]?] {
    var (found, most) = ([[UInt8]?](), Commit.mostOperations)
    while found.count < names.count {
      let next = Array(names[found.count...].prefix(most))
      do throws(StorageError) { found += try await read(next) } catch {
        guard error == .largeRecord else { throw error }
        // One large record must not hide the others.
        if next.count == 1 { found.append([]) }
        most = max(1, next.count / 2)
      }
    }
    return found
  }
}

extension StorageError {
  static let wrongAnswer = untrusted("the cluster answered another question than it was asked")
  static let largeRecord = untrusted(
    "the cluster has a record of the vault that is larger than kist writes")
}
