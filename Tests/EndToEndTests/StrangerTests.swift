import Foundation
import KistTesting
import Subprocess
import Testing

@Suite(.needsRoot("to become another user"), .timeLimit(.minutes(10)))
struct `A socket of another user` {
  @Test func `receives nothing from kist`() async throws {
    try await withHome { home in
      let shared = home.path + "/shared"
      try FileManager.default.createDirectory(
        atPath: shared, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o1777])
      for (path, mode) in [(home.path, 0o711), (shared, 0o1777)] {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      }
      let socket = shared + "/kist.sock"
      // Prints what one client sends, until it disconnects or two minutes have passed.
      let script = """
        import os, socket, sys
        listener = socket.socket(socket.AF_UNIX); listener.bind(sys.argv[1])
        os.chmod(sys.argv[1], 0o777); listener.listen(); listener.settimeout(120)
        client = listener.accept()[0]; client.settimeout(120)
        while part := client.recv(4096): sys.stdout.buffer.write(part)
        print("gone")
        """
      async let listener = command(
        "setpriv",
        ["--reuid=65534", "--regid=65534", "--clear-groups", "python3", "-c", script, socket],
        in: home)
      while !FileManager.default.fileExists(atPath: socket) { await Task.yield() }
      var saved = try await command(
        "kist", ["save", "s", "--socket", socket], in: home, input: "pw")
      while saved.status == .exited(7) {  // The socket is bound, but not yet listening.
        saved = try await command("kist", ["save", "s", "--socket", socket], in: home, input: "pw")
      }
      #expect(saved.status == .exited(6))
      #expect(saved.error.contains("another user's process"))
      #expect(try await listener.output == "gone\n")
    }
  }
}
