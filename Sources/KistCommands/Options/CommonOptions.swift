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

  /// Where kistd listens: what was asked for, else by the rule of the protocol.
  func socketPath() throws(StorageError) -> String {
    if let socket { return socket }
    return try SocketLocation.current().path
  }
}
