package import ArgumentParser
internal import KistClient
internal import KistWire

/// The options that every command has.
package struct CommonOptions: ParsableArguments {
  @Flag(help: "Print JSON, one object on a line; errors too.")
  package var json = false

  @Option(help: ArgumentHelp("Where kistd listens.", valueName: "path"))
  package var socket: String?

  package init() {}

  /// Where kistd listens: what was asked for, else by the rule of the protocol; what can be no socket's
  /// path is refused before anything is asked for over it.
  func socketPath() throws(StorageError) -> String {
    if let socket { return try SocketLocation(path: socket).path }
    return try SocketLocation.current().path
  }
}
