import CLibsecret
import Glibc
import Synchronization

@testable import KistLibsecret

/// A session bus in this process, with a keyring provider that follows a script.
///
/// It is one end of a socket, so GLib handles its answers like those of another program.
final class HostileBus: Sendable {
  static let own = HostileBus()

  let address: String
  private let script = Mutex<Script?>(nil)
  private let connections = Mutex<[Connection]>([])

  private init() {
    // GLib logs a caller's mistakes and continues. Its messages about a peer's mistakes differ.
    g_log_set_default_handler(
      { _, _, message, _ in
        let message = message.map { String(cString: $0) } ?? ""
        demand(!message.hasSuffix("' failed"), "GLib is called correctly: \(message)")
      }, nil)
    let path = Folder.own.path("bus")
    address = "unix:path=" + path
    let listener = listeningSocket(at: path)
    let loop = Work { [self] in
      while true { serve(accept(listener, nil, nil)) }
    }
    let body: GThreadFunc = { work in
      Work.perform(work, ())
      return nil
    }
    g_thread_unref(g_thread_new("bus", body, loop.retained()))
  }

  /// Follows a script with all later connections.
  func play(_ new: Script) { script.withLock { $0 = new } }

  /// Closes all connections.
  func end() {
    script.withLock { $0 = nil }
    connections.withLock { $0 = [] }
    // GLib reports closed connections in this loop, and keeps them until then.
    while g_main_context_iteration(nil, 0) != 0 {}
  }

  private func serve(_ descriptor: CInt) {
    guard
      let script = script.withLock({ $0 }), let socket = g_socket_new_from_fd(descriptor, nil)
    else {
      close(descriptor)
      return
    }
    let stream = g_socket_connection_factory_create_connection(socket)!
    g_object_unref(socket)
    defer { g_object_unref(stream) }
    let flags = GDBusConnectionFlags(
      G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_SERVER.rawValue
        | G_DBUS_CONNECTION_FLAGS_DELAY_MESSAGE_PROCESSING.rawValue)
    let connection = stream.withMemoryRebound(to: GIOStream.self, capacity: 1) { stream in
      g_dbus_connection_new_sync(
        stream, "0123456789abcdef0123456789abcdef", flags, nil, nil, nil)
    }
    guard let connection else { return }
    g_dbus_connection_add_filter(
      connection,
      { connection, message, isIncoming, script in
        guard isIncoming != 0 else { return message }
        Unmanaged<Script>.fromOpaque(script!).takeUnretainedValue()
          .answer(message!, on: connection!)
        g_object_unref(UnsafeMutableRawPointer(message!))
        return nil
      }, Unmanaged.passRetained(script).toOpaque(),
      { Unmanaged<Script>.fromOpaque($0!).release() })
    connections.withLock { $0.append(Connection(connection)) }
    g_dbus_connection_start_message_processing(connection)
  }
}

/// A connection that is closed when it is released.
///
/// Nothing waits for the end of the close: if a script closes it at the same time, GLib may never
/// end.
private final class Connection: @unchecked Sendable {
  private let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) { self.pointer = pointer }

  deinit {
    g_dbus_connection_close(pointer, nil, nil, nil)
    g_object_unref(UnsafeMutableRawPointer(pointer))
  }
}

private func listeningSocket(at path: String) -> CInt {
  let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
  let bound = withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
  demand(bound == 0 && listen(listener, 8) == 0, "there is a socket for the bus")
  return listener
}
