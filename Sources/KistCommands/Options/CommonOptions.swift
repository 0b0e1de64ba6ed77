package import ArgumentParser
internal import KistClient
internal import KistWire

/// The options of every command.
package struct CommonOptions: ParsableArguments {
  @Flag(help: "Print JSON, one object on a line; errors too.")
  package var json = false

  @Option(help: ArgumentHelp("Where kistd listens.", valueName: "path"))
  package var socket: String?

  package init() {}

  /// Returns the path of kistd's socket: the option's, or the default of the protocol.
  ///
  /// Throws for an invalid path before any request is sent.
  func socketPath() throws(StorageError) -> String {
    if let socket { return try SocketLocation(path: socket).path }
    return try SocketLocation.current().path
  }

  /// Returns the functions of that kistd, over one connection that blocks the calling thread.
  func kistd(threads: Int = 0) throws(StorageError) -> Endpoints {
    .remote(socketPath: try socketPath(), threads: threads)
  }
}
