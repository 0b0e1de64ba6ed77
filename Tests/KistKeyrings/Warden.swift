import Glibc
import Synchronization

/// Ends the programs of a test and removes its folder, even if the test process is killed.
///
/// It is a shell that receives process IDs over a socket, and acts when the other end is closed for
/// any reason. (A parent-death signal would depend on the thread that started a program, and
/// programs with file capabilities, such as gnome-keyring-daemon, do not receive it.)
final class Warden: Sendable {
  private static let script = """
    trap "" INT HUP TERM
    guarded=
    while read -r word process; do
      case $word in
      guard) guarded="$guarded -$process" ;;
      forget)
        rest=
        for each in $guarded; do [ "$each" = "-$process" ] || rest="$rest $each"; done
        guarded=$rest
        ;;
      esac
    done
    for each in $guarded; do kill -s KILL -- "$each" 2>/dev/null; done
    rm -rf "$1" 2>/dev/null || { sleep 0.2; rm -rf "$1"; }
    """

  private let shell: Spawned
  /// `nil` once it is closed, as a task that outlives its test must not write to a reused
  /// descriptor.
  private let socket: Mutex<CInt?>

  init(folder: String) throws {
    var ends: [CInt] = [0, 0]
    let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw CannotStart(program: "/bin/sh", code: errno)
    }
    let nowhere = try openFile("/dev/null", O_WRONLY)
    defer {
      close(ends[0])
      close(nowhere)
    }
    socket = Mutex(ends[1])
    shell = try Spawned(
      "/bin/sh", ["-c", Self.script, "sh", folder], environment: ["PATH": "/usr/bin:/bin"],
      input: ends[0], output: nowhere, errors: nowhere)
  }

  /// Registers a process that leads its own group, which also contains its children.
  func watch(_ process: pid_t) { sendLine("guard \(process)") }
  func forget(_ process: pid_t) { sendLine("forget \(process)") }

  /// Closes the socket and waits until all programs have ended and the folder is removed.
  func end() async {
    socket.withLock { socket in
      if let open = socket { close(open) }
      socket = nil
    }
    while shell.status() == nil { await pause() }
  }

  private func sendLine(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    socket.withLock { socket in
      guard let socket else { return }
      _ = unsafe send(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    }
  }
}
