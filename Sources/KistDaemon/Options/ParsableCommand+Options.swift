internal import ArgumentParser
internal import KistCore

extension ParsableCommand {
  /// How kistd would be run with those of its flags that one of its commands has, too.
  func options(
    environment: (String) -> String?, _ setFlags: (inout Kistd) -> Void
  ) throws(StorageError) -> Options {
    do {
      var kistd = try Kistd.parse([])
      setFlags(&kistd)
      return try kistd.options(environment: environment)
    } catch { throw usageError(error, of: Self.self) }
  }
}
