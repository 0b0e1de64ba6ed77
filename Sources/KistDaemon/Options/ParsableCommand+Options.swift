internal import ArgumentParser
internal import KistCore

extension ParsableCommand {
  /// Returns the options of a kistd with the flags that it shares with this command.
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
